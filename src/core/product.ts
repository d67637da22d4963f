/** What this is called where people read it. */
export const displayName = 'Payments'

/** What it is, in one sentence of at most 100 characters: registries and server cards take no more. */
export const shortDescription =
  'A payments API as MCP tools for AI agents, with a complete sandbox of it to rehearse on.'

/** What to ask the model first. */
export const firstQuestion = 'Issue a card for 50 dollars at Example Store and pay 42.50 with it.'
