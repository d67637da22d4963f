import manifest from '../../package.json' with { type: 'json' }

/** The version of this package. */
export const version: string = manifest.version

/** The name by which the MCP server calls the API. */
export const program = `payments-mcp/${version}`
