import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { createRemoteFetch } from '../../src/client/remote.ts'
import { realSystem } from '../../src/core/system.ts'
import { createService } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { proveBooks } from '../ledger/books.ts'
import { hosts } from '../mcp/hosts.ts'
import { serve } from '../packaging/served.ts'
import { databasesForLong } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { secrets } from '../support/world.ts'
import {
  agentOver,
  type Caller,
  callsPerRound,
  type Intent,
  moveMoney,
  type Places,
  programOver,
} from './exactly-once.ts'

const cli = await runResource('cli')

/** The number of calls over each transport. A deep run makes 20,000 in total, most of them on the faster database. */
const callsOn = isDeep ? { sqlite: 8_500, postgres: 1_500 } : { sqlite: 140, postgres: 140 }
const concurrency = 64

/**
 * A rule that refuses attempts so often that all attempts of some transfers are refused, and the client gives up. The
 * client's retries take seconds, so only deep runs use the rule.
 */
const repeatedRefusals = `  - { id: refused, operation: create_internal_transfer, fault: error, code: rate_limited, when: { probability: 0.35 } }
`

/** Rules that make about a third of all attempts fail. */
const faults = `
seed: exactly once
faults:
${isDeep ? repeatedRefusals : ''}  - { id: lost, operation: '*', fault: effect_then_lost, when: { probability: 0.12 } }
  - { id: unavailable, operation: '*', fault: effect_then_503, when: { probability: 0.12 } }
  - { id: cut, operation: '*', fault: reset, when: { probability: 0.08 } }
  - { id: late, operation: '*', fault: slow, afterMs: 30, when: { probability: 0.05 } }
  - { id: limited, operation: '*', fault: error, code: rate_limited, when: { probability: 0.02 } }
`

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe.each(databasesForLong)('calls under faults on $name', (database) => {
  const transports = Object.entries({ stdio: connectOverStdio, HTTP: connectOverHttp })
  // On two busy cores, 8,500 calls take longer than the default timeout.
  test.each(transports)('a call over %s takes effect exactly once', { timeout: 1_200_000 }, async (name, connect) => {
    const { url, drop } = await database.create(realSystem)
    closing.push(drop)
    const places = await createPlaces(url)
    const directory = await mkdtemp(join(tmpdir(), 'payments-mcp-faults-'))
    closing.push(() => rm(directory, { recursive: true, force: true }))
    const file = join(directory, 'faults.yaml')
    await writeFile(file, faults)
    const { caller, close } = await connect({
      PATH: process.env.PATH ?? '',
      PAYMENTS_DATABASE_URL: url,
      PAYMENTS_FAULTS: file,
      PAYMENTS_TOOLSETS: 'all',
      PAYMENTS_RATE_LIMIT: '1000000000',
      PAYMENTS_LOG_LEVEL: 'fatal',
    })
    const rounds = Math.ceil(callsOn[database.name] / callsPerRound)
    const { count, intents } = await moveMoney(caller, places, { rounds, first: 1, at: concurrency }).finally(close)
    const effects = await effectsIn(url)
    const { extra, lost } = findMismatches(intents, effects.amounts)
    const hits = Object.entries(effects.hits).map(([id, hit]) => `${hit} ${id}`)
    process.stdout.write(
      `${database.name}, ${name}: ${count.calls} calls, hits of the fault rules: ${hits.join(', ')}; ${count.unknown} results unknown at first, ${count.retryLater} answers advised a retry; ${extra.length} effects too many, ${lost.length} lost\n`,
    )
    expect({ extra, lost }).toEqual({ extra: [], lost: [] })
    expect(count.calls).toBe(rounds * callsPerRound)
    for (const hit of Object.values(effects.hits)) expect(hit).toBeGreaterThan(0)
  })
})

type Connect = (env: Record<string, string>) => Promise<{ caller: Caller; close(): Promise<void> }>

/** Starts a server over stdio, as an agent's host does. Returns a caller that acts as an agent. */
async function connectOverStdio(env: Record<string, string>): ReturnType<Connect> {
  const host = hosts[2].open()
  const command = { command: process.execPath, args: [cli], env, stderr: 'inherit' as const }
  await host.connect(new StdioClientTransport(command))
  return { caller: agentOver(host), close: () => host.close() }
}

/** Starts a `serve` process. Returns a caller that acts as a program and sends its calls over HTTP. */
async function connectOverHttp(env: Record<string, string>): ReturnType<Connect> {
  const served = await serve([cli, 'serve'], { ...env, PAYMENTS_PORT: '0' })
  const { fetch, close } = createRemoteFetch()
  const credential = () => `ak_ntl_sandbox_${secrets.agentKey}`
  const client = createClient({ baseUrl: served.url, fetch, credential, instanceId: 'program', system: realSystem })
  return {
    caller: programOver(client),
    close: async () => {
      await close()
      await served.stop()
    },
  }
}

/** Opens the service on a database, in this process. Returns a client of the seeded party, and one of its agent. */
async function openService(url: string) {
  const store = await openStore({ url, system: realSystem })
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const service = createService({ store, system: realSystem, environment: 'sandbox', rateLimit: 1_000_000, log })
  const credentials = await service.seed(secrets)
  const as = (credential: string | null) =>
    createClient({
      baseUrl: 'http://sandbox.test',
      fetch: (request) => service.fetch(request),
      credential: () => String(credential),
      instanceId: 'bookkeeper',
      system: realSystem,
    }).operations
  return { store, owner: as(credentials.apiKey), agent: as(credentials.agentKey) }
}

/** Creates a second wallet. Returns the ids of both wallets, of their party, and of a customer to pay. */
async function createPlaces(url: string): Promise<Places> {
  const { store, owner, agent } = await openService(url)
  const { partyId } = (await owner.whoami({})).data.attributes
  const fromWalletId = (await owner.listWallets({})).data[0]?.id ?? ''
  const toWalletId = (await owner.createWallet({ displayName: 'Savings' })).data.id
  const agentId = String((await agent.whoami({})).data.attributes.agentId)
  await owner.attachWalletAgent({ walletId: toWalletId, agentId })
  const payeeId = (await agent.listCustomers({})).data[0]?.id ?? ''
  await store.close()
  return { partyId, payeeId, fromWalletId, toWalletId }
}

/**
 * Returns the amounts of each tool's effects in the database, and the number of hits of each rule in the fault file.
 */
async function effectsIn(url: string) {
  const { store, owner } = await openService(url)
  try {
    const rules = (await owner.listSandboxFaults({})).data
    const fileRules = rules.filter(({ attributes }) => attributes.origin === 'file')
    const hits = Object.fromEntries(fileRules.map(({ id, attributes }) => [id, Number(attributes.hits)]))
    await owner.clearSandboxFaults({})
    const { transactions, payments } = await proveBooks(store)
    const cards = await store.transaction(({ db }) => db.selectFrom('agentCards').selectAll().execute())
    const purchases = transactions.filter(({ kind }) => kind === 'purchase')
    const amountsOf = (kind: string) => payments.filter((row) => row.kind === kind).map((row) => row.amountCents)
    const amounts: Record<string, number[]> = {
      fund_sandbox_wallet: amountsOf('deposit'),
      issue_agent_card: cards.map(({ maximumAmountCents }) => maximumAmountCents),
      simulate_card_authorization: purchases.map(({ amountCents }) => amountCents),
      simulate_card_capture: purchases.map(({ capturedCents }) => capturedCents),
      simulate_card_refund: transactions.filter(({ kind }) => kind === 'refund').map(({ amountCents }) => amountCents),
      create_payment: amountsOf('payment'),
      create_internal_transfer: amountsOf('internal'),
    }
    return { amounts, hits }
  } finally {
    await store.close()
  }
}

/** Returns the extra effects (unrequested or repeated) and the lost effects (requested, but missing). */
function findMismatches(intents: readonly Intent[], amounts: Record<string, readonly number[]>) {
  const requested = new Set(intents.map(({ tool, amount }) => `${tool} of ${amount}`))
  const done = Object.entries(amounts).flatMap(([tool, all]) => all.map((amount) => `${tool} of ${amount}`))
  const seen = new Set<string>()
  const extra = done.filter((effect) => !requested.has(effect) || seen.size === seen.add(effect).size)
  return { extra, lost: [...requested].filter((effect) => !seen.has(effect)) }
}
