/** The version of MCP from which on there are no sessions. Versions are dates: later ones compare greater. */
export const modernVersion = '2026-07-28'
