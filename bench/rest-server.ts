import { fileURLToPath } from 'node:url'
import { Agent } from 'undici'
import { startHttpServer } from './http-server.ts'
import { makeCards } from './parties.ts'
import { manyPerMinute, openSandbox, purchase } from './sandbox.ts'

/** `serve` in a process of its own, from source, whose REST API is called. */
export interface RestServer {
  origin: string
  pid: number
  /** Has the one purchase of the seeded agent's next card authorized. */
  authorizeNext(): Promise<void>
  end(): Promise<void>
}

const secret = `bench-${'x'.repeat(24)}`
const key = `ak_ntl_sandbox_${secret}`

/** Starts the service on a database that is made for it, with so many cards to buy with. */
export async function startRestServer(databaseUrl: string, cardCount: number): Promise<RestServer> {
  const sandbox = await openSandbox(databaseUrl)
  const cards = await makeCards(sandbox, cardCount)
  await sandbox.close()
  const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
  const settings = { PAYMENTS_PORT: '0', PAYMENTS_LOG_LEVEL: 'error', PAYMENTS_RATE_LIMIT: String(manyPerMinute) }
  const env = { ...settings, PAYMENTS_DATABASE_URL: databaseUrl, PAYMENTS_SANDBOX_AGENT_KEY: secret }
  const server = await startHttpServer([cli, 'serve'], { env })
  const agent = new Agent({ connections: null, pipelining: 1, headersTimeout: 60_000, connect: { timeout: 60_000 } })
  const common = { authorization: `Bearer ${key}`, 'x-instance-id': 'bench', 'content-type': 'application/json' }
  const body = JSON.stringify({ data: { attributes: purchase } })
  return {
    origin: server.origin,
    pid: server.pid,
    authorizeNext: async () => {
      const cardId = cards.pop()
      if (cardId === undefined) throw new Error('Bug: the bench is out of cards.')
      const path = `/simulations/agent-cards/${cardId}/authorize`
      const headers = { ...common, 'idempotency-key': cardId }
      const answer = await agent.request({ origin: server.origin, path, method: 'POST', headers, body })
      const text = await answer.body.text()
      if (!text.includes('"status":"authorized"')) throw new Error(text)
    },
    end: async () => {
      await agent.destroy()
      await server.end()
    },
  }
}
