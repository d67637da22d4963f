import manifest from '../../package.json' with { type: 'json' }

/** The version of this package. */
export const version: string = manifest.version

/** What the MCP server calls itself where it calls the API. */
export const program = `payments-mcp/${version}`
