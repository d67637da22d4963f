import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import { hosts } from './hosts.ts'

onEachDatabase('headers of requests to the API', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  describe.each(hosts)('$host', ({ host: name, open }) => {
    test('User-Agent contains the names of server and host, and X-MCP-Repeat marks a repeated call', async () => {
      const seen: { path: string; userAgent: string | null; repeat: string | null }[] = []
      const memory = async () => {
        const { keyId: id, partyId } = await world.whoami()
        return databaseMemories(world.service, world.store)({ id, partyId })
      }
      const connection = await connectHost(world, open, {
        repeats: { windowMs: 900_000, run: undefined, memory },
        between: ({ url, headers }) => {
          const [userAgent, repeat] = [headers.get('User-Agent'), headers.get('X-MCP-Repeat')]
          seen.push({ path: new URL(url).pathname, userAgent, repeat })
          return undefined
        },
      })
      const { host } = connection
      const card = { merchant: { name: `Cafe ${name}` }, maximumAmount: 4_200, currency: 'USD' }
      const answers = [await host.callTool('issue_agent_card', card), await host.callTool('issue_agent_card', card)]
      await host.requests.readResource({ uri: `payments://agent-cards/${answers[0]?.structuredContent?.data.id}` })
      await connection.close()
      expect(new Set(seen.map(({ userAgent }) => userAgent))).toEqual(new Set(['payments-mcp/1.2.3 (test-host/1)']))
      expect(answers.map((answer) => answer.isError)).toEqual([undefined, undefined])
      const issued = seen.filter(({ path }) => path.endsWith('/agent-cards'))
      expect(issued.map(({ repeat }) => repeat)).toEqual([null, 'true'])
    })
  })
})
