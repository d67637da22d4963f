import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

/** Connects an agent to the payments MCP server at `mcpUrl`, with an agent key. */
export async function createAgent({ mcpUrl, key }) {
  const client = new Client({ name: 'example-agent', version: '1.0.0' })
  const requestInit = { headers: { Authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }))
  return { buy: (order) => buy(client, order), close: () => client.close() }
}

/** Issues a card for the order and pays with it. In a real agent, a model would choose these tool calls. */
async function buy(client, { merchant, price, budget }) {
  const order = { currency: 'USD', merchant: { name: merchant } }
  const card = await call(client, 'issue_agent_card', { ...order, maximumAmount: budget })
  const purchase = await call(client, 'simulate_card_authorization', { ...order, cardId: card.id, amount: price })
  const { status, decline } = purchase.attributes
  return status === 'declined' ? `Declined: ${decline.detail}` : `Paid $${(price / 100).toFixed(2)} at ${merchant}.`
}

/**
 * Calls a tool, and repeats the call once if no answer comes. The server recognizes the repeat and does not carry out
 * the call twice.
 */
async function call(client, name, args) {
  const request = () => client.callTool({ name, arguments: args })
  const { isError, content, structuredContent } = await request().catch(request)
  if (isError) throw new Error(content[0].text)
  return structuredContent.data
}
