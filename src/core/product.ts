/** The product name that people see. */
export const displayName = 'Payments'

/** The product in one sentence of at most 100 characters, the limit of registries and server cards. */
export const shortDescription = 'A payments API as MCP tools for AI agents, with a complete sandbox to rehearse in.'

/** An example of a first request to the model. */
export const firstQuestion = 'Issue a card for 50 dollars at Example Store and pay 42.50 with it.'
