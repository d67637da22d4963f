// A small agent. The first argument is the name of the environment variable that contains the path of the MCP
// configuration. If the second argument is `buy` or missing, the agent buys notebooks at Plain Goods. If it is `list`,
// the agent lists the server's tools.
import { readFileSync } from 'node:fs'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [, , variable, action = 'buy'] = process.argv
const { type, url, headers, ...server } = JSON.parse(readFileSync(process.env[variable], 'utf8')).mcpServers.payments
const transport =
  type === 'http'
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    : new StdioClientTransport({ ...server, env: { PATH: process.env.PATH, ...server.env } })
const client = new Client({ name: 'shopper', version: '1' })
await client.connect(transport)
const call = async (name, input) => {
  for (let tries = 1; ; tries += 1) {
    try {
      const { structuredContent, content, isError } = await client.callTool({ name, arguments: input })
      if (isError) throw new Error(content[0].text)
      if (structuredContent?.data === undefined) throw new Error(JSON.stringify(structuredContent ?? content))
      return structuredContent.data
    } catch (error) {
      // Retrying is safe. If only the answer was lost, the server does not carry out the identical call a second time.
      if (tries === 3) throw error
    }
  }
}

async function buy() {
  const items = [{ productId: 'dotted-notebook', quantity: 2 }]
  const checkout = await call('start_shop_checkout', { shopId: 'plain-goods', items })
  const { merchant, total } = checkout.attributes
  const card = await call('issue_agent_card', { merchant: { name: merchant.name }, maximumAmount: total })
  const { number, cvv, expirationMonth, expirationYear } = (await call('get_agent_card_details', { cardId: card.id }))
    .attributes
  const payment = { number, cvv, expirationMonth, expirationYear, amount: total }
  const paid = await call('pay_shop_checkout', { checkoutId: checkout.id, ...payment })
  return `Ordered for ${total} cents: ${paid.attributes.status}.`
}

async function listToolNames() {
  const { tools } = await client.listTools()
  return tools
    .map(({ name }) => name)
    .toSorted()
    .join(' ')
}

console.log(await { buy, list: listToolNames }[action]())
await client.close()
