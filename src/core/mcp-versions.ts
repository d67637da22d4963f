/** The first version of MCP without sessions. Versions are dates, so a later version compares greater. */
export const modernVersion = '2026-07-28'
