import manifest from '../../package.json' with { type: 'json' }

/** The version of this package. */
export const version: string = manifest.version

/** The program name and version that the MCP server sends to the API. */
export const program = `payments-mcp/${version}`
