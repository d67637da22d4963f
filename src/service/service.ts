import type { OperationKey } from '../../tools/index.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import type { Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import type { Carrier } from '../core/carrier.ts'
import { Failure } from '../core/errors.ts'
import type { Fault } from '../core/faults.ts'
import { requireNode } from '../core/node-version.ts'
import type { Environment } from '../core/operation.ts'
import { newSecret, type System, sha256 } from '../core/system.ts'
import type { About } from '../openapi/discovery.ts'
import type { World } from '../worlds/schema.ts'
import { createApp, createCarrier } from './app.ts'
import { createPublicFetch } from './oauth/public-fetch.ts'
import { SignIn } from './oauth/sign-in.ts'
import { handlers } from './operations/index.ts'
import { eventBodies } from './operations/steps/told-events.ts'
import type { Actor } from './request/actor.ts'
import { actorNow } from './request/admission.ts'
import type { Caller } from './request/client-address.ts'
import { Deliveries } from './request/deliver/deliveries.ts'
import { createSender, type Send } from './request/deliver/sender.ts'
import { type DoorRequest, planAtDoor } from './request/faults.ts'
import { asUser } from './request/in-process.ts'
import type { counted } from './request/incoming.ts'
import { createLastUses } from './request/last-use.ts'
import { loadFaults } from './request/load-faults.ts'
import { createTell } from './request/note-told.ts'
import type { Observe } from './request/observed.ts'
import { createRateLimiter, type RateLimit } from './request/rate-limit.ts'
import { createReadiness, type Readiness } from './request/readiness.ts'
import type { Reply } from './request/reply.ts'
import { RunLog } from './request/run-log.ts'
import { createUpkeep, type Upkeep } from './request/upkeep.ts'
import { Waits } from './request/waits.ts'
import { mayBeHere } from './request/webhook-addresses.ts'
import type { Tell } from './rules/runs.ts'
import { foundParty, type SeededCredentials, type Seeding, type SeedSecrets, seed, seededAgentKeyId } from './seed.ts'
import type { Store } from './store/engine/store.ts'
import { announcing } from './store/events.ts'
import { lastingTexts, rootKeys } from './store/root-keys.ts'
import type { UserRow } from './store/schema/users.ts'
import { createAccessTokens } from './tokens/access-tokens.ts'
import type { Retired } from './tokens/retire-keys.ts'
import { credentialPrefix } from './tokens/secrets.ts'

export interface ServiceOptions {
  store: Store
  system: System
  environment: Environment
  /** Requests per minute per credential. */
  rateLimit: number
  log: Logger
  /** The address that people reach the service's pages at, without a slash at its end. */
  publicUrl?: () => string
  /** Fetches the metadata documents of applications that sign in. */
  publicFetch?: typeof globalThis.fetch
  /** Sends what webhooks are told. */
  send?: Send
  clientMetadata?: Config['clientMetadata']
  /** Told of each request when it is answered. */
  observe?: Observe | undefined
  /** What the page at `/` and the documents for hosts tell of this deployment. */
  about?: About
  /** What an empty store is filled with; the package's own world unless it is given. */
  world?: World | undefined
  /** Whether it is kept what happens in runs, for the console; so it is unless it is said. */
  keepsRuns?: boolean
}

/** The payments service on a store: a complete deployment of the API behind one fetch function. */
export interface Service {
  /** Every method and path that is answered, with `:name` for what varies: what a table of all doors is held against. */
  readonly routes: readonly { method: string; path: string }[]
  /** `caller` is who sent it over a network; within this process there is none. */
  fetch(request: Request, caller?: Caller | typeof counted): Promise<Response>
  /** What `fetch` does for the operations, for a client in this process: no request of HTTP has to be made. */
  carry(caller?: typeof counted): Carrier
  /** Counts a request that comes in by another door against the limit of its credential. */
  limit(keyId: string): Promise<RateLimit>
  /**
   * Fills an empty store with the world; sets the secrets of its first keys that are given or were never made.
   * @throws AnotherWorldError where the store holds another one, WorldMistakeError for what cannot be.
   */
  seed(secrets: SeedSecrets): Promise<SeededCredentials>
  /** Makes the first party and its owner in an empty store, without money; false where there is a party already. */
  found(owner: { email: string; name: string }): Promise<boolean>
  /** A credential of the seeded agent's that lives in this process's memory only. Seeds an empty store. */
  localAgentKey(): Promise<string>
  /** Sets the owner's password, or makes one where there is none; null: there is one, which is not known, or no owner. */
  seedPassword(given: string | undefined): Promise<{ email: string | null; password: string | null }>
  /**
   * Makes a one-time link that signs the first owner in, with proof, and leads to `next`; undefined where there is no
   * owner. It is a secret: show it to a person at a terminal or in a browser, never in a pipe or a log.
   */
  signInLink(next: string): Promise<string | undefined>
  /** What goes wrong on purpose in the sandbox (docs/sandbox.md#faults). */
  readonly faults: {
    /**
     * What befalls a request at the MCP door, counted and told to the activity; undefined: nothing. It asks the rules
     * that have a path. @throws Failure 400 or 403 for the header X-Sandbox-Fault.
     */
    plan(request: DoorRequest): Promise<Fault | undefined>
    /** Takes the rules of a file for those of an earlier one. @throws FaultRuleError for one that cannot be used. */
    load(rules: readonly FaultRule[]): Promise<void>
  }
  readonly upkeep: Upkeep
  /** Tells webhooks of events, beside all requests. */
  readonly deliveries: Pick<Deliveries, 'start' | 'connect' | 'once' | 'stop'>
  readonly readiness: Readiness
  /** What happens in runs, for the console. */
  readonly runLog: Pick<RunLog, 'note' | 'flush' | 'follow'>
  /** Enters into a run what no request tells. */
  readonly tell: Tell
  readonly waits: Pick<Waits, 'connect' | 'follow' | 'begin' | 'end' | 'close'>
  /** New keys to derive secrets and to sign tokens with take over; what older ones made stays good. */
  rotateKeys(): Promise<{ rootKey: number; signingKey: string }>
  /** The same, and forgets the older root keys: what they made is carried on first. */
  retireKeys(): Promise<Retired & { signingKey: string }>
  /**
   * A secret for one purpose, the same in every process on this database, whatever keys come and go: for what processes
   * agree on for as long as they run.
   */
  derivedSecret(purpose: 'sentCalls' | 'mcpQuestions'): Promise<string>
  /** Such secrets by each key, the newest first: what an older one sealed opens still. */
  derivedSecrets(purpose: 'mcpRequestState'): Promise<string[]>
  /** Whom a credential acts as, as a request with it would be told; undefined: nobody. */
  identify(credential: string): Promise<Actor | undefined>
  /** Carries an operation out for a user, as a page does where they are signed in. */
  actAs(
    user: Pick<UserRow, 'id' | 'partyId'>,
    key: OperationKey,
    given: { params: Record<string, string>; attributes?: object },
  ): Promise<Reply>
}

/** Where `serve` listens unless it is told otherwise. */
const defaultUrl = () => 'http://127.0.0.1:4010'

/** Nobody set anything up: what a service in another program tells. */
const aboutItself: About = {
  name: 'payments-mcp/service',
  version: '0.0.0',
  protocolVersions: [],
  toolsets: ['default'],
  readOnly: false,
}

export function createService({
  store: opened,
  system,
  environment,
  rateLimit,
  log,
  publicUrl = defaultUrl,
  publicFetch = createPublicFetch({ httpsProxy: undefined, noProxy: undefined }),
  send = createSender(),
  clientMetadata = 'auto',
  observe,
  about = aboutItself,
  world,
  keepsRuns = true,
}: ServiceOptions): Service {
  requireNode('createService')
  const waits = new Waits({ store: opened, system, log })
  const runLog = new RunLog({ store: opened, system, log, keeps: keepsRuns })
  const announced = (partyIds: ReadonlySet<string>) => {
    waits.happened(partyIds)
    deliveries.wake()
  }
  const store = announcing(opened, announced, (postings) => runLog.posted(postings))
  const mayStayHere = () => mayBeHere(environment, publicUrl())
  const deliveries = new Deliveries({ store, system, log, send, mayStayHere, bodies: eventBodies })
  const ending = new AbortController()
  const localCredentials = new Map<string, string>()
  const accessTokens = createAccessTokens({ store, system, publicUrl })
  const signIn = new SignIn({ store, system, log })
  const admission = { accessTokens, store, system, environment, localCredentials }
  const readiness = createReadiness(system, () => {
    ending.abort()
    waits.stop()
  })
  const shared = { readiness, waits, runLog, tell: createTell({ store: opened, system, runLog }) }
  const seeding = { store, system, environment, world }
  const dependencies = {
    ...admission,
    handlers,
    signIn,
    publicFetch,
    clientMetadata,
    publicUrl,
    log,
    lastUses: createLastUses(),
    parties: new Map(),
    rateLimit: createRateLimiter(rateLimit, { store, system }),
    ...shared,
    observe,
    about,
    ending: ending.signal,
  }
  const app = createApp(dependencies)
  return {
    routes: app.routes.map(({ method, path }) => ({ method, path })),
    fetch: (request, caller) => app.fetch(request, caller),
    carry: createCarrier(dependencies),
    limit: dependencies.rateLimit,
    seed: (secrets) => seed(seeding, secrets),
    found: (owner) => foundParty({ store, system, environment }, owner),
    localAgentKey: () => localAgentKey(seeding, localCredentials),
    faults: {
      plan: (request) => planAtDoor(dependencies, request),
      load: (rules) => loadFaults({ store }, rules),
    },
    upkeep: createUpkeep({ store, system, lastUses: dependencies.lastUses, log }),
    deliveries,
    ...shared,
    rotateKeys: async () => (await import('./tokens/rotate-keys.ts')).rotateKeys(store, system),
    retireKeys: async () => (await import('./tokens/rotate-keys.ts')).retireKeys(store, system),
    derivedSecret: async (purpose) => (await store.read(rootKeys)).lasting(lastingTexts[purpose]),
    derivedSecrets: async (purpose) => (await store.read(rootKeys)).signatures(lastingTexts[purpose]),
    seedPassword: (given) => signIn.seedPassword(given),
    signInLink: (next) => signIn.linkTo(`${publicUrl()}/sign-in/once/`, next),
    identify: (credential) => identified(admission, credential),
    actAs: (user, key, given) => asUser(dependencies, user, key, given),
  }
}

/** Makes a credential of the seeded agent's that only this process knows. */
async function localAgentKey(seeding: Seeding, local: Map<string, string>): Promise<string> {
  const keyId = await seededAgentKeyId(seeding)
  const credential = `${credentialPrefix('agent_key', seeding.environment)}${newSecret(seeding.system)}`
  local.set(sha256(credential), keyId)
  return credential
}

/** Whom a credential acts as; undefined: nobody. */
async function identified(admission: Parameters<typeof actorNow>[0], credential: string): Promise<Actor | undefined> {
  try {
    return await actorNow(admission, `Bearer ${credential}`)
  } catch (error) {
    if (error instanceof Failure && error.code === 'unauthenticated') return undefined
    throw error
  }
}
