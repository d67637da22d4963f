// A small agent: buys what its task says through the MCP server of the configuration that its argument names.
import { readFileSync } from 'node:fs'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const { payments } = JSON.parse(readFileSync(process.env[process.argv[2]], 'utf8')).mcpServers
const { type, url, headers, ...server } = payments
const transport =
  type === 'http'
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    : new StdioClientTransport({ ...server, env: { PATH: process.env.PATH, ...server.env } })
const client = new Client({ name: 'buyer', version: '1' })
await client.connect(transport)
const call = async (name, input) => (await client.callTool({ name, arguments: input })).structuredContent.data

const [, price, merchant] = /for (\d+) cents at (.*)\./.exec(process.env.TASK)
const shop = { merchant: { name: merchant } }
const card = await call('issue_agent_card', { ...shop, maximumAmount: Number(price) })
const authorized = await call('simulate_card_authorization', { ...shop, cardId: card.id, amount: Number(price) })
const bought = await call('simulate_card_capture', { cardTransactionId: authorized.id, amount: Number(price) })
await client.close()
console.log(`Bought: ${bought.attributes.status}, ${bought.attributes.captured} cents.`)
