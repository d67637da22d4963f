import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, anotherProcess, createWorld, type OtherParty, type World } from '../support/world.ts'
import { type Host, hosts, type ToolResult } from './hosts.ts'
import { type Connector, holdRequest, httpConnector, lost, stdioConnector, unavailable } from './repeating.ts'

/** A connector to the service, and a function that makes the same payment on each call. */
interface Scene {
  connector: Connector
  pay(host: Host, signal?: AbortSignal): Promise<ToolResult>
}

/**
 * Situations in which a host repeats a payment. Each function simulates one, and returns the answers to the repeats.
 */
const scenarios: Record<string, (scene: Scene) => Promise<ToolResult[]>> = {
  'the answer is lost': async ({ connector, pay }) => {
    const host = await connector.open()
    connector.network.deliveries = [lost, lost, lost, lost]
    expect((await pay(host)).isError).toBe(true)
    return [await pay(host)]
  },
  'the answer is slow and the host gives up': async ({ connector, pay }) => {
    const host = await connector.open()
    const slow = holdRequest('after')
    connector.network.deliveries = [slow.delivery]
    await payAndGiveUp(pay, host, slow.arrived)
    const repeat = await pay(host)
    await slow.release()
    return [repeat]
  },
  'the request is slow and arrives after its repeat': async ({ connector, pay }) => {
    const host = await connector.open()
    const slow = holdRequest('before')
    connector.network.deliveries = [slow.delivery]
    await payAndGiveUp(pay, host, slow.arrived)
    // The repeat reaches the service first, so its answer is not marked as `repeated`.
    const repeat = await pay(host)
    expect(repeat.structuredContent).not.toHaveProperty('repeated')
    await slow.release()
    return [await pay(host)]
  },
  'the API makes the payment but answers 503': async ({ connector, pay }) => {
    const host = await connector.open()
    connector.network.deliveries = [unavailable, unavailable, unavailable, unavailable]
    expect((await pay(host)).isError).toBe(true)
    return [await pay(host)]
  },
  'the host restarts': async ({ connector, pay }) => {
    const host = await connector.open()
    const slow = holdRequest('after')
    connector.network.deliveries = [slow.delivery]
    const call = pay(host).catch(() => {})
    await slow.arrived
    await host.close()
    const repeat = await pay(await connector.open())
    await slow.release()
    await call
    return [repeat]
  },
  'two hosts send it at the same time': async ({ connector, pay }) => {
    const [one, other] = [await connector.open(), await connector.open()]
    const both = await Promise.all([pay(one), pay(other)])
    return both.filter(({ structuredContent }) => structuredContent && 'repeated' in structuredContent)
  },
}

/** Makes a payment. Once the network holds the request, cancels the call at the host. */
async function payAndGiveUp(pay: Scene['pay'], host: Host, arrived: Promise<void>): Promise<void> {
  const controller = new AbortController()
  const call = pay(host, controller.signal)
  call.catch(() => {})
  await arrived
  controller.abort('it takes too long')
  await expect(call).rejects.toThrow()
}

const repeatText =
  /^This is the answer to the same call \d+ s ago; nothing was done now\. To do it once more on purpose, pass a new idempotencyKey\./
const hostPerVersion = hosts.filter(({ version }, index) => hosts.findIndex((one) => one.version === version) === index)

onEachDatabase('repeated payments', (database) => {
  let worlds: World[]
  let other: OtherParty
  let directory: string
  const connectors: Connector[] = []
  let amount = 100
  beforeAll(async () => {
    const system = fakeSystem({ now: Date.now() })
    const world = await createWorld(database, { system })
    worlds = [world, await anotherProcess(world, system)]
    other = await addParty(world)
    directory = await mkdtemp(join(tmpdir(), 'repeats-'))
  })
  afterEach(async () => {
    for (const connector of connectors.splice(0)) await connector.close()
  })
  afterAll(async () => {
    await worlds[1]?.drop()
    await worlds[0]?.drop()
    await rm(directory, { recursive: true })
  })

  const received = async () => {
    const wallet = await worlds[0]?.get(`/wallets/${other.walletId}`, { key: other.apiKey })
    return wallet?.json.data.attributes.balance.total as number
  }
  /** Runs a scenario. Returns how many times the payee received the payment, and the answers to the repeats. */
  const runScenario = async (scenario: (scene: Scene) => Promise<ToolResult[]>, connector: Connector) => {
    connectors.push(connector)
    amount += 1
    const payment = { amount, counterparty: { type: 'party_id', value: other.partyId } }
    const before = await received()
    const pay: Scene['pay'] = (host, signal) => host.callTool('create_payment', payment, signal && { signal })
    const repeats = await scenario({ connector, pay })
    return { times: ((await received()) - before) / amount, repeats }
  }
  const connectorKinds = {
    'over stdio, embedded': (options: Parameters<typeof stdioConnector>[0]) => stdioConnector(options),
    'over stdio, against a remote API': (options: Parameters<typeof stdioConnector>[0]) =>
      stdioConnector(options, join(directory, 'sent-calls.json')),
    'over HTTP': (options: Parameters<typeof stdioConnector>[0]) => httpConnector(options),
    'over HTTP, with an instance ID': (options: Parameters<typeof stdioConnector>[0]) =>
      httpConnector(options, { 'X-Instance-ID': 'the run of the test' }),
  }

  describe.each(Object.entries(connectorKinds))('%s', (_kind, open) => {
    describe.each(hostPerVersion)('$host', (host) => {
      test.each(Object.entries(scenarios))('the payment is made once if %s', async (_name, scenario) => {
        const { times, repeats } = await runScenario(scenario, await open({ windowSeconds: 900, worlds, host }))
        expect(times).toBe(1)
        expect(repeats).toHaveLength(1)
        const { repeated, ...answered } = (repeats[0]?.structuredContent ?? {}) as Record<string, unknown>
        expect(repeated).toEqual({ at: expect.any(String), next: expect.stringMatching(repeatText) })
        expect(answered).not.toHaveProperty('replayed')
        expect(repeats[0]?.content[0]?.text).toMatch(repeatText)
      })
    })
  })

  test.each(Object.entries(scenarios))(
    'without the repeat guard, the payment is made more than once if %s',
    async (_name, scenario) => {
      const [host] = hosts
      expect((await runScenario(scenario, stdioConnector({ windowSeconds: 0, worlds, host }))).times).toBeGreaterThan(1)
    },
  )
})
