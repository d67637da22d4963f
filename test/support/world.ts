import { randomUUID } from 'node:crypto'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Config } from '../../src/config/settings.ts'
import type { Environment } from '../../src/core/operation.ts'
import { delegable, scopes } from '../../src/core/permissions.ts'
import { newId, sha256 } from '../../src/core/system.ts'
import { createService, type Service, type ServiceOptions } from '../../src/service/service.ts'
import { createAgent } from '../../src/service/store/agents.ts'
import { createCredential } from '../../src/service/store/credentials.ts'
import { createDelegation } from '../../src/service/store/delegations.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { createParty } from '../../src/service/store/parties.ts'
import type { DelegationRow } from '../../src/service/store/schema/delegations.ts'
import type { PartyRow } from '../../src/service/store/schema/parties.ts'
import { createUser } from '../../src/service/store/users.ts'
import { wholeCredential } from '../../src/service/tokens/secrets.ts'
import { ownWorld } from '../../src/worlds/own-world.ts'
import { sqliteTemplate, type TestDatabase } from './databases.ts'
import { isDeep } from './depth.ts'
import { type FakeSystem, fakeSystem, untouchedDraws } from './fake-system.ts'

/** The optional parts of a request. */
export interface Sent {
  /** The credential; by default, the key of the seeded agent. With `null`, no credential is sent. */
  key?: string | null
  /** The idempotency key; by default, a new one for each request. With `null`, no key is sent. */
  idempotencyKey?: string | null
  instanceId?: string | null
  attributes?: unknown
  /** The whole body. It replaces `attributes` and the envelope around them. */
  body?: string
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read some parts by name and compare others as a whole.
  json: any
}

/** A service on a real database with the seeded world, and a client of its public API. */
export interface World {
  store: Store
  environment: Environment
  /** The URL of the database. */
  url: string
  service: Service
  system: FakeSystem
  agentKey: string
  apiKey: string
  logged: string[]
  /** The log lines of the levels warn and error. */
  alarms: string[]
  send(method: string, path: string, sent?: Sent): Promise<Answer>
  /** Sends a POST with attributes, by default as the seeded agent. */
  post(path: string, attributes: unknown, sent?: Sent): Promise<Answer>
  get(path: string, sent?: Sent): Promise<Answer>
  issueCard(attributes?: Record<string, unknown>, sent?: Sent): Promise<string>
  authorize(cardId: string, amount: number, sent?: Sent): Promise<Answer>
  whoami(key?: string): Promise<{ partyId: string; agentId: string | null; keyId: string }>
  customerPartyId(): Promise<string>
  /**
   * Drops the database of the world.
   * @throws if the test never read a refusal that it received, or if the service logged a bug
   */
  drop(): Promise<void>
}

export interface WorldOptions {
  environment?: Environment
  rateLimit?: number
  system?: FakeSystem
  publicUrl?: () => string
  clientMetadata?: Config['clientMetadata']
  /** The world that fills the sandbox; by default, the package's own world. */
  world?: ServiceOptions['world']
  /** Replaces the function that sends webhook deliveries. */
  send?: ServiceOptions['send']
  /** Replaces the function that fetches documents of applications and keys of identity providers. */
  publicFetch?: ServiceOptions['publicFetch']
  /** Renders the result of a recorded call as a model saw it. By default, the console does not show results. */
  toolResultOf?: ServiceOptions['toolResultOf']
  /** Whether runs are recorded. Tests that count database queries turn this off, because recording adds queries. */
  keepsRuns?: boolean
}

export const secrets = { apiKey: 'api-secret-0123456789abcdef', agentKey: 'agent-secret-0123456789abcdef' }

export async function createWorld(database: TestDatabase, options: WorldOptions = {}): Promise<World> {
  const { environment = 'sandbox', rateLimit = 1_000_000, system = fakeSystem() } = options
  const draws =
    database.name === 'sqlite' && environment === 'sandbox' && !options.world ? untouchedDraws(system) : undefined
  const filled = draws && (await seededFile())
  const { store, url, drop: dropDatabase } = await database.create(system, filled?.file)
  const logged: string[] = []
  const line = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const alarms: string[] = []
  const alarm = (fields: object, message: string) => {
    line(fields, message)
    alarms.push(logged.at(-1) ?? '')
  }
  const log = { debug: line, info: line, warn: alarm, error: alarm }
  const { publicUrl, clientMetadata, send, publicFetch, toolResultOf } = options
  const serviceOptions = {
    ...(publicUrl && { publicUrl }),
    ...(clientMetadata && { clientMetadata }),
    ...(send && { send }),
    ...(publicFetch && { publicFetch }),
    ...(toolResultOf && { toolResultOf }),
  }
  // Production starts empty, but tests need the records of the package's own world there too.
  const { world = environment === 'production' ? ownWorld : undefined, keepsRuns = true } = options
  const service = createService({ store, system, environment, rateLimit, log, world, keepsRuns, ...serviceOptions })
  const { apiKey, agentKey } = await service.seed(secrets)
  if (draws && filled) draws.count = filled.drawn
  const unread = new Set<string>()
  const drop = async () => {
    // Writes the run log's entries that are still in memory, as a process does when it ends.
    await service.runLog.flush()
    await dropDatabase()
    const bugs = alarms.filter((line) => line.startsWith('Bug:'))
    if (bugs.length > 0) throw new Error(bugs.join('\n'))
    // Outside the deep run, some tests are skipped on PostgreSQL. The test that would read the refusal may be one of
    // them.
    if (unread.size > 0 && (isDeep || database.name === 'sqlite'))
      throw new Error(`The test did not look at these refusals:\n${[...unread].join('\n')}`)
  }
  const calls = caller(service, String(agentKey), unread)
  return { store, environment, url, service, system, logged, alarms, drop, ...calls, apiKey: String(apiKey) }
}

/**
 * Returns a SQLite file with the default world. Each worker creates the file once and then copies it, because copying
 * is three times as fast as seeding.
 */
function seededFile(): Promise<Seeded> {
  seeded ??= seedFile()
  return seeded
}

interface Seeded {
  file: string
  /** The number of random blocks that seeding generates. */
  drawn: number
}

let seeded: Promise<Seeded> | undefined

async function seedFile(): Promise<Seeded> {
  const system = fakeSystem()
  const draws = untouchedDraws(system)
  const file = join(inject('runDirectory'), `seeded-${randomUUID()}.sqlite`)
  await copyFile(await sqliteTemplate(), file)
  const store = await openStore({ url: `sqlite:${file}`, system })
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const service = createService({ store, system, environment: 'sandbox', rateLimit: 1_000_000, log })
  await service.seed(secrets)
  await service.runLog.flush()
  await store.close()
  return { file, drawn: draws?.count ?? 0 }
}

/**
 * Makes the test fail if it never reads this refusal. After a refusal that it does not expect, a test no longer checks
 * what it should. The status 503 is exempt: on a busy machine, any of many simultaneous requests may get it, and such a
 * request changes nothing.
 */
function trackRefusal(answer: Answer, request: string, unread: Set<string>): Answer {
  if (answer.status < 400 || answer.status === 503) return answer
  const refusal = `${request}: ${answer.status} ${answer.text}`
  unread.add(refusal)
  return new Proxy(answer, {
    get: (target, name, receiver) => {
      // `await` reads `then`, so reading `then` does not count as reading the refusal.
      if (name !== 'then') unread.delete(refusal)
      return Reflect.get(target, name, receiver)
    },
  })
}

/**
 * Creates a second service on the same database, as another process would. The second service uses the given system and
 * its clock. `drop` stops only this service.
 */
export async function anotherProcess(world: World, system: FakeSystem): Promise<World> {
  const store = await openStore({ url: world.url, system })
  const logged: string[] = []
  const line = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: line, info: line, warn: line, error: line }
  const service = createService({ store, system, environment: 'sandbox', rateLimit: 1_000_000, log })
  const drop = async () => {
    await service.upkeep.stop()
    await store.close()
  }
  return { ...world, store, service, system, logged, drop, ...caller(service, world.agentKey, new Set()) }
}

function caller(service: Service, agentKey: string, unread: Set<string>) {
  let count = 0
  const send: World['send'] = async (method, path, sent = {}) => {
    const { key = agentKey, idempotencyKey, instanceId, attributes } = sent
    const body = sent.body ?? (attributes === undefined ? undefined : JSON.stringify({ data: { attributes } }))
    const headers = new Headers(key === null ? {} : { Authorization: `Bearer ${key}` })
    if (body !== undefined) headers.set('Content-Type', 'application/json')
    if (idempotencyKey !== null && method !== 'GET') headers.set('Idempotency-Key', idempotencyKey ?? `key ${count++}`)
    if (instanceId !== null) headers.set('X-Instance-ID', instanceId ?? 'run 1')
    for (const [name, value] of Object.entries(sent.headers ?? {})) headers.set(name, value)
    const response = await service.fetch(
      new Request(`http://sandbox.test${path}`, { method, headers, ...(body === undefined ? {} : { body }) }),
    )
    const { status, headers: answered } = response
    const text = await response.text()
    return trackRefusal({ status, headers: answered, text, json: JSON.parse(text) }, `${method} ${path}`, unread)
  }
  const get: World['get'] = (path, sent) => send('GET', path, sent)
  const post: World['post'] = (path, attributes, sent) => send('POST', path, { ...sent, attributes })
  return {
    agentKey,
    send,
    get,
    post,
    issueCard: async (attributes: Record<string, unknown> = {}, sent?: Sent) => {
      const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD', ...attributes }
      const answer = await post('/agent-cards', card, sent)
      if (answer.status !== 200) throw new Error(answer.text)
      return answer.json.data.id as string
    },
    authorize: (cardId: string, amount: number, sent?: Sent) =>
      post(
        `/simulations/agent-cards/${cardId}/authorize`,
        { amount, currency: 'USD', merchant: { name: 'Books' } },
        sent,
      ),
    whoami: async (key = agentKey) => (await get('/whoami', { key })).json.data.attributes,
    customerPartyId: async () => (await get('/customers')).json.data[0].id as string,
  }
}

export interface OtherParty {
  partyId: string
  agentId: string
  walletId: string
  apiKey: string
  agentKey: string
}

/** Creates another organization with a funded wallet, an agent and keys, as the seed does. */
export async function addParty(
  world: World,
  {
    party = {},
    fundsCents = 100_000,
    agentHolds = delegable,
    apiKeyScopes = scopes,
  }: {
    party?: Partial<PartyRow>
    fundsCents?: number
    agentHolds?: readonly string[]
    apiKeyScopes?: readonly string[]
  } = {},
): Promise<OtherParty> {
  const { partyId, walletId } = await addPlainParty(world, { party, fundsCents })
  const { agentId, agentKey } = await addAgent(world, partyId, walletId, agentHolds)
  const apiKey = await addKey(world, { partyId, agentId: null, scopes: apiKeyScopes })
  return { partyId, agentId, walletId, apiKey, agentKey }
}

/**
 * Creates an organization with a funded wallet but no agent and no keys. It is not a self-managed party, so the sandbox
 * acts for it.
 */
export async function addPlainParty(
  { store, system }: WorldParts,
  { party = {}, fundsCents = 100_000 }: { party?: Partial<PartyRow>; fundsCents?: number } = {},
): Promise<Pick<OtherParty, 'partyId' | 'walletId'>> {
  const createdAtMs = system.now()
  const partyId = newId('pty', system, createdAtMs)
  const org = { id: partyId, partyType: 'ORG', displayName: 'Other', email: null, issuedCardsEnabled: 1 } as const
  const wallet = await store.transaction((tx) => createParty(tx, system, { ...org, createdAtMs, ...party }, fundsCents))
  return { partyId, walletId: wallet.id }
}

/** The parts of a world that are needed to create records. By default, the environment is the sandbox. */
type WorldParts = Pick<World, 'store' | 'system'> & Partial<Pick<World, 'environment'>>

export async function addAgent(world: WorldParts, partyId: string, walletId: string, permissions: readonly string[]) {
  const { store, system } = world
  const agent = { name: 'Another agent', createdBy: null, partyId }
  const { id: agentId } = await store.transaction((tx) => {
    return createAgent({ tx, system, nowMs: system.now() }, agent, walletId, permissions)
  })
  return { agentId, agentKey: await addKey(world, { partyId, agentId, scopes: null }) }
}

/** Creates an agent key, or an API key if `agentId` is null. Returns the whole key. */
export async function addKey(
  { store, system, environment = 'sandbox' }: WorldParts,
  {
    partyId,
    agentId,
    scopes: keyScopes,
  }: { partyId: string; agentId: string | null; scopes: readonly string[] | null },
): Promise<string> {
  const createdAtMs = system.now()
  const kind = agentId === null ? 'api_key' : 'agent_key'
  const credential = wholeCredential(kind, environment, newId('test', system, createdAtMs))
  await store.transaction((tx) =>
    createCredential(tx, {
      id: newId(agentId === null ? 'apy' : 'agk', system, createdAtMs),
      kind,
      partyId,
      agentId,
      name: null,
      secretHash: sha256(credential),
      displayPrefix: credential.slice(0, 20),
      scopes: keyScopes === null ? null : JSON.stringify(keyScopes),
      seeded: 0,
      revokedAtMs: null,
      expiresAtMs: null,
      createdAtMs,
    }),
  )
  return credential
}

export async function addDelegation(
  { store, system }: WorldParts,
  grant: Pick<DelegationRow, 'customerPartyId' | 'agentPartyId' | 'agentId'> & Partial<DelegationRow>,
): Promise<void> {
  const createdAtMs = system.now()
  await store.transaction((tx) =>
    createDelegation(tx, {
      id: newId('dlg', system, createdAtMs),
      permissions: JSON.stringify(delegable),
      limits: null,
      status: 'ACTIVE',
      createdAtMs,
      revokedAtMs: null,
      ...grant,
    }),
  )
}

/** Creates a user of the party and a token for this user. Returns the user's id and the whole token. */
export async function addUserToken(
  { store, system }: WorldParts,
  partyId: string,
): Promise<{ userId: string; token: string }> {
  const createdAtMs = system.now()
  const userId = newId('usr', system, createdAtMs)
  const token = `ut_ntl_sandbox_${newId('test', system, createdAtMs)}`
  const user = {
    id: userId,
    partyId,
    role: 'OWNER',
    name: 'A user',
    email: `${userId}@example.com`,
    createdAtMs,
  } as const
  await store.transaction(async (tx) => {
    await createUser(tx, user)
    await createCredential(tx, {
      id: newId('utk', system, createdAtMs),
      kind: 'user_token',
      partyId,
      agentId: null,
      userId,
      name: null,
      secretHash: sha256(token),
      displayPrefix: token.slice(0, 20),
      scopes: null,
      seeded: 0,
      revokedAtMs: null,
      expiresAtMs: null,
      createdAtMs,
    })
  })
  return { userId, token }
}

/** Revokes a key directly in the database. */
export async function revokeKey({ store, system }: WorldParts, keyId: string): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.db.updateTable('credentials').set({ revokedAtMs: system.now() }).where('id', '=', keyId).execute()
  })
}
