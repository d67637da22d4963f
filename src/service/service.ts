import type { OperationKey } from '../../tools/index.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import type { Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import type { ApiTransport } from '../core/api-transport.ts'
import { Failure } from '../core/errors.ts'
import type { Fault } from '../core/faults.ts'
import { requireNode } from '../core/node-version.ts'
import type { Environment } from '../core/operation.ts'
import { newSecret, type System, sha256 } from '../core/system.ts'
import type { About } from '../openapi/discovery.ts'
import type { World } from '../worlds/schema.ts'
import { createApp, createTransport } from './app.ts'
import { createPublicFetch } from './oauth/public-fetch.ts'
import { SignIn } from './oauth/sign-in.ts'
import { handlers } from './operations/index.ts'
import { eventBodies } from './operations/steps/event-bodies.ts'
import type { Caller } from './request/client-address.ts'
import { Deliveries } from './request/deliver/deliveries.ts'
import { createSender, type Send } from './request/deliver/sender.ts'
import { authenticateEarly } from './request/early-authentication.ts'
import { type McpRequest, planMcpFault } from './request/faults.ts'
import { asUser } from './request/in-process.ts'
import { createLastUses } from './request/last-use.ts'
import { loadFaults } from './request/load-faults.ts'
import type { Actor } from './request/permission-checks.ts'
import { createRateLimiter, type RateLimit } from './request/rate-limit.ts'
import { createReadiness, type Readiness } from './request/readiness.ts'
import type { Reply } from './request/reply.ts'
import { createReporter } from './request/reported-entries.ts'
import type { Observe } from './request/request-metrics.ts'
import type { counted } from './request/request-parsing.ts'
import { RunLog } from './request/run-log.ts'
import { createUpkeep, type Upkeep } from './request/upkeep.ts'
import { WaitingRequests } from './request/waiting-requests.ts'
import { allowsLocalAddresses } from './request/webhook-addresses.ts'
import type { ReportEntry, ToolResultOf } from './rules/runs.ts'
import { createOwner, type SeededCredentials, type Seeding, type SeedSecrets, seed, seededAgentKeyId } from './seed.ts'
import type { Store } from './store/engine/store.ts'
import { withAnnouncements } from './store/events.ts'
import { lastingTexts, rootKeys } from './store/root-keys.ts'
import type { UserRow } from './store/schema/users.ts'
import { createAccessTokens } from './tokens/access-tokens.ts'
import type { Retired } from './tokens/retire-keys.ts'
import { credentialPrefix } from './tokens/secrets.ts'

export { realSystem, type System } from '../core/system.ts'
export { openStore } from './store/engine/open.ts'

/** The options of `createService`. */
export interface ServiceOptions {
  /** The database, opened by `openStore`. */
  store: Store
  /** The source of time, randomness and waiting: `realSystem` outside of tests. */
  system: System
  /** The environment, which every credential's prefix shows (docs/service.md#credential-modes). */
  environment: Environment
  /** The maximum number of requests per minute for each credential. */
  rateLimit: number
  /** The logger, such as a pino logger. */
  log: Logger
  /** Returns the public URL of the service's pages, without a trailing slash. */
  publicUrl?: () => string
  /** Fetches applications' metadata documents and identity providers' keys. */
  publicFetch?: typeof globalThis.fetch
  /** Sends webhook deliveries. */
  send?: Send
  clientMetadata?: Config['clientMetadata']
  /** Called for each request once the request is answered. */
  observe?: Observe | undefined
  /** Details of this deployment for the page at `/` and the discovery documents. */
  about?: About
  /** The world that fills an empty store; by default, the package's own. */
  world?: World | undefined
  /** Renders a recorded call's result as the model saw it. Without this function, the console shows no results. */
  toolResultOf?: ToolResultOf | undefined
  /** Whether the events of runs are recorded for the console; true by default. */
  keepsRuns?: boolean
}

/** The payments service on a database: the complete API behind one fetch function. */
export interface Service {
  /** Every method and path that the service serves, with `:name` for parameters. */
  readonly routes: readonly { method: string; path: string }[]
  /**
   * Answers a request, whether or not it succeeds. Rejects only if a sandbox fault cuts the connection.
   * @param request A request to any host; only its path and query matter.
   * @param caller The sender of a request that came over a network. Requests within this process have no sender.
   */
  fetch(request: Request, caller?: Caller | typeof counted): Promise<Response>
  /** Returns a transport for a client in this process. Unlike `fetch`, the transport builds no HTTP requests. */
  carry(caller?: typeof counted): ApiTransport
  /** Counts a request that does not use `fetch`, such as an MCP request, against the rate limit of the key. */
  limit(keyId: string): Promise<RateLimit>
  /**
   * Fills an empty database with the world, and sets the secrets of the seeded keys (`SeedSecrets`).
   * @param secrets The secrets to set. If a key has no secret and is given none, a secret is generated for it.
   * @returns The complete credentials, if they are known.
   * @throws {AnotherWorldError} If the database holds a different world.
   * @throws {InvalidWorldError} If the world is impossible.
   */
  seed(secrets: SeedSecrets): Promise<SeededCredentials>
  /** Creates the first party and its owner in an empty store. Returns false if there already is a party. */
  createOwner(owner: { email: string; name: string }): Promise<boolean>
  /** Creates the seeded agent's credential for use in this process only. Seeds the store first if it is empty. */
  localAgentKey(): Promise<string>
  /**
   * Sets the owner's password to `fixedPassword`. Without `fixedPassword`, generates a password if the owner has none
   * and a person will see the new one (`isSeen`). The returned password is null if it was neither given nor generated.
   */
  seedPassword(
    fixedPassword: string | undefined,
    isSeen?: boolean,
  ): Promise<{ email: string | null; password: string | null }>
  /**
   * Creates a one-time link that signs in the first owner and leads to `next`. A sign-in with the link counts as proof
   * of identity. Returns undefined if there is no owner. The link is a secret: show it to a person at a terminal or in
   * a browser, and never write it to a pipe or log.
   */
  signInLink(next: string): Promise<string | undefined>
  /** The sandbox's deliberate faults (docs/sandbox.md#faults). */
  readonly faults: {
    /**
     * Returns the fault for a request to the MCP endpoint; undefined if there is none. Each rule that matches counts
     * the request, and the activity log records the fault. Only rules with a path apply.
     * @throws Failure 400 for a malformed X-Sandbox-Fault header; 403 if the caller may not send this header.
     */
    plan(request: McpRequest): Promise<Fault | undefined>
    /** Replaces the rules that were loaded from a file earlier. @throws FaultRuleError for an unusable rule. */
    load(rules: readonly FaultRule[]): Promise<void>
  }
  readonly upkeep: Upkeep
  /** Delivers events to webhooks, independently of requests. */
  readonly deliveries: Pick<Deliveries, 'start' | 'connect' | 'once' | 'stop'>
  readonly readiness: Readiness
  /** The log of run events, which the console shows. */
  readonly runLog: Pick<RunLog, 'note' | 'flush' | 'follow'>
  /** Records an event of a run that is not a request to the API. */
  readonly reportEntry: ReportEntry
  /** The requests that wait for a resource to change. */
  readonly waits: Pick<WaitingRequests, 'connect' | 'follow' | 'begin' | 'end' | 'close'>
  /** Creates a new root key and a new signing key. Everything issued with older keys stays valid. */
  rotateKeys(): Promise<{ rootKey: number; signingKey: string }>
  /** Creates new keys and deletes the older root keys. Secrets derived from the deleted keys are stored first. */
  retireKeys(): Promise<Retired & { signingKey: string }>
  /**
   * Returns the secret for a purpose. The secret is the same in every process on this database, and does not change
   * when keys are added or retired.
   */
  derivedSecret(purpose: 'sentCalls' | 'mcpQuestions'): Promise<string>
  /**
   * Returns the secrets for a purpose, one for each root key, newest first. Data that was sealed with an older secret
   * can therefore still be opened.
   */
  derivedSecrets(purpose: 'mcpRequestState'): Promise<string[]>
  /** Returns the actor that a credential identifies; undefined if the credential is invalid. */
  identify(credential: string): Promise<Actor | undefined>
  /** Performs an operation on behalf of a user, as the pages do for a signed-in user. */
  actAs(
    user: Pick<UserRow, 'id' | 'partyId'>,
    key: OperationKey,
    input: { params: Record<string, string>; attributes?: object },
  ): Promise<Reply>
}

/** Returns the URL at which `serve` listens by default. */
const defaultUrl = () => 'http://127.0.0.1:4010'

/** The default of `about`, for a service that is embedded in another program. */
const aboutItself: About = {
  name: 'payments-mcp/service',
  version: '0.0.0',
  protocolVersions: [],
  toolsets: ['default'],
  readOnly: false,
}

/**
 * Creates the payments service on an open database. The service does not listen on a port. Until `upkeep` is started,
 * the service applies due effects only when a request arrives. Close the store after the last request.
 * @throws {Error} If Node.js is too old.
 * @example A sandbox without an HTTP server:
 * ```ts
 * import { createService, openStore, realSystem as system } from 'payments-mcp/service'
 *
 * const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
 * const store = await openStore({ url: 'sqlite::memory:', system })
 * const service = createService({ store, system, environment: 'sandbox', rateLimit: 6000, log })
 * const { apiKey } = await service.seed({ apiKey: undefined, agentKey: undefined })
 *
 * const request = new Request('http://127.0.0.1/wallets', { headers: { Authorization: `Bearer ${apiKey}` } })
 * const answer = await service.fetch(request)
 * console.log(answer.status, await answer.json()) // 200, the wallets
 * await store.close()
 * ```
 */
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
  toolResultOf,
  keepsRuns = true,
}: ServiceOptions): Service {
  requireNode('createService')
  const waits = new WaitingRequests({ store: opened, system, log })
  const runLog = new RunLog({ store: opened, system, log, keeps: keepsRuns })
  const announce = (partyIds: ReadonlySet<string>) => {
    waits.noteChanges(partyIds)
    deliveries.wake()
  }
  const store = withAnnouncements(opened, announce, (postings) => runLog.posted(postings))
  const mayStayHere = () => allowsLocalAddresses(environment, publicUrl())
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
  const shared = { readiness, waits, runLog, reportEntry: createReporter({ store: opened, system, runLog }) }
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
    toolResultOf,
    ending: ending.signal,
  }
  const app = createApp(dependencies)
  return {
    routes: app.routes.map(({ method, path }) => ({ method, path })),
    fetch: (request, caller) => app.fetch(request, caller),
    carry: createTransport(dependencies),
    limit: dependencies.rateLimit,
    seed: (secrets) => seed(seeding, secrets),
    createOwner: (owner) => createOwner({ store, system, environment }, owner),
    localAgentKey: () => localAgentKey(seeding, localCredentials),
    faults: {
      plan: (request) => planMcpFault(dependencies, request),
      load: (rules) => loadFaults({ store }, rules),
    },
    upkeep: createUpkeep({ store, system, lastUses: dependencies.lastUses, log }),
    deliveries,
    ...shared,
    rotateKeys: async () => (await import('./tokens/rotate-keys.ts')).rotateKeys(store, system),
    retireKeys: async () => (await import('./tokens/rotate-keys.ts')).retireKeys(store, system),
    derivedSecret: async (purpose) => (await store.read(rootKeys)).lasting(lastingTexts[purpose]),
    derivedSecrets: async (purpose) => (await store.read(rootKeys)).signatures(lastingTexts[purpose]),
    seedPassword: (fixedPassword, isSeen) => signIn.seedPassword(fixedPassword, isSeen),
    signInLink: (next) => signIn.linkTo(`${publicUrl()}/sign-in/once/`, next),
    identify: (credential) => findActor(admission, credential),
    actAs: (user, key, input) => asUser(dependencies, user, key, input),
  }
}

/** Creates a credential for the seeded agent. Only this process accepts the credential. */
async function localAgentKey(seeding: Seeding, local: Map<string, string>): Promise<string> {
  const keyId = await seededAgentKeyId(seeding)
  const credential = `${credentialPrefix('agent_key', seeding.environment)}${newSecret(seeding.system)}`
  local.set(sha256(credential), keyId)
  return credential
}

/** Returns the actor that a credential identifies; undefined if the credential is invalid. */
async function findActor(
  admission: Parameters<typeof authenticateEarly>[0],
  credential: string,
): Promise<Actor | undefined> {
  try {
    return await authenticateEarly(admission, `Bearer ${credential}`)
  } catch (error) {
    if (error instanceof Failure && error.code === 'unauthenticated') return undefined
    throw error
  }
}
