/** The first version of MCP without sessions. Versions are dates: later ones compare greater. */
export const modernVersion = '2026-07-28'
