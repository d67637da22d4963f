/** The first version of MCP without sessions. Versions are ISO dates, so they can be compared as strings. */
export const modernVersion = '2026-07-28'
