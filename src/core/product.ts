/** The product's name for people. */
export const displayName = 'Payments'

/** The product in one sentence of at most 100 characters, the limit of registries and server cards. */
export const shortDescription =
  'A payments API as MCP tools for AI agents, with a complete sandbox of it to rehearse on.'

/** A first question to ask the model. */
export const firstQuestion = 'Issue a card for 50 dollars at Example Store and pay 42.50 with it.'
