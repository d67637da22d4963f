import { afterEach, describe, expect, test } from 'vitest'
import { hosts, newHome, runHost } from './hosts.ts'
import { idIn, type Step } from './model/script.ts'
import { type ScriptedModel, scriptedModel } from './model/server.ts'
import { bearer, callTool, serveSandbox, stdioServer } from './world.ts'

const merchant = { name: 'Books' }

// These calls use only arguments in the tools' schemas, because some hosts reject other arguments.
const card = () => ({ merchant, maximumAmount: 5000, currency: 'USD' })
const authorization = (results: readonly string[]) => ({ cardId: idIn(results, 'pcd'), amount: 4250, merchant })
const capture = (amount: number) => (results: readonly string[]) => ({
  cardTransactionId: idIn(results, 'cit'),
  amount,
})

const purchase: Step[] = [
  { call: 'issue_agent_card', arguments: card },
  { call: 'simulate_card_authorization', arguments: authorization },
  // This amount exceeds the authorized amount. The error states the maximum.
  { call: 'simulate_card_capture', arguments: capture(9999) },
  { call: 'simulate_card_capture', arguments: capture(4250) },
  { say: () => 'Bought.' },
]

let cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo()
  cleanUp = []
})

async function startModel(script: readonly Step[]): Promise<ScriptedModel> {
  const model = await scriptedModel(script)
  cleanUp.push(() => model.close())
  return model
}

const transports = {
  stdio: async (home: string) => stdioServer(home),
  HTTP: async (home: string) => {
    const served = await serveSandbox(home)
    cleanUp.push(() => served.stop())
    return { url: `${served.url}/mcp`, headers: bearer }
  },
}

describe.each(hosts)('a purchase by $name', (host) => {
  test.each(['stdio', 'HTTP'] as const)(
    `${host.name} buys over %s after its model corrects a refused amount`,
    async (transport) => {
      const { home, remove } = newHome()
      cleanUp.push(remove)
      const model = await startModel(purchase)
      const ran = await runHost(host, { home, mcp: await transports[transport](home), model: model.url })
      expect(ran.output).toContain('Bought.')
      expect(ran.exitCode).toBe(0)

      const [, , refused] = model.results()
      expect(refused).toMatch(/amount/)
      expect(refused).toMatch(/at most 4250/)

      const { data } = await callTool(home, 'list_card_transactions')
      expect(data).toHaveLength(1)
      expect(data[0].attributes).toMatchObject({ status: 'captured', captured: 4250, held: 0 })
    },
  )
})
