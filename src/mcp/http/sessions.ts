import {
  type InitializeRequest,
  isJSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Server,
} from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import type { SessionRecord, SessionStore } from '../../core/session-store.ts'
import { newSecret, type System, sha256 } from '../../core/system.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { HostContext, Principal } from './host-context.ts'
import type { Limits } from './limits.ts'
import { jsonResponse, jsonResponseWith, refusalResponse, rpc } from './responses.ts'
import { SessionStreams } from './session-streams.ts'
import { SessionTransport } from './session-transport.ts'
import type { Surface } from './surface.ts'
import type { Sweeper } from './sweeper.ts'

/** An MCP 2025 session that this process serves. */
export interface Session {
  readonly idHash: string
  readonly principalId: string
  readonly partyId: string
  readonly server: Server
  readonly transport: SessionTransport
  readonly streams: SessionStreams
  /**
   * The principal of the latest request. Its credential may be newer than that of the first request, because a session
   * can outlive an access token.
   */
  readonly latest: { readonly principal: Principal }
}

interface SessionsDependencies {
  createServer: (context: HostContext) => Server
  store: SessionStore
  system: System
  limits: Limits
  heartbeats: Heartbeats
  sweeper: Pick<Sweeper, 'recordDelivery'>
  /**
   * Returns whether a message must not be stored. If the message is an answer, `request` is the request that it
   * answers.
   */
  isSecret: (message: JSONRPCMessage, request: JSONRPCRequest | undefined) => boolean
  /** The secret that signs the ids of requests to hosts, so that forged answers are recognized. */
  sealKey: string
  log: Log
}

type Run = Pick<HostContext, 'instanceId' | 'isOneRun'>

/** The state that any process needs to continue a session. */
interface State extends Pick<HostContext, 'readOnly'>, Run {
  toolsets: HostContext['toolsets'] | null
  initialize: InitializeRequest['params']
}

interface Live extends Session {
  readonly latest: { principal: Principal }
  usedAtMs: number
  touchedAtMs: number
  /** The last time that this process found the session in the store. */
  checkedAtMs: number
}

/** How long this process may take to notice that another process ended a session. */
const recheckMs = 1_000
/** How often the store records that a session is in use. */
const touchMs = 60_000
/** The most characters of a session's stored state: mainly the host's name, version and capabilities. */
const stateLimit = 32 * 1024

/** The sessions that this process serves. Some may have begun in another process that uses the same store. */
export class Sessions {
  readonly #dependencies: SessionsDependencies
  readonly #local = new Map<string, Live>()
  readonly #building = new Map<string, Promise<Live>>()

  constructor(dependencies: SessionsDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Serves an `initialize` request, which begins a session. The header Mcp-Session-Id of the response contains the
   * session's id.
   */
  async open(principal: Principal, message: JSONRPCRequest, surface: Surface, run: Run): Promise<Response> {
    this.sweep()
    const { system, store, limits } = this.#dependencies
    const id = newSecret(system)
    const nowMs = system.now()
    const state = stateOf(message, surface, run)
    const record = {
      idHash: sha256(id),
      principalId: principal.id,
      partyId: principal.partyId,
      state: JSON.stringify(state),
      createdAtMs: nowMs,
      usedAtMs: nowMs,
    }
    if (record.state.length > stateLimit) return tooLargeResponse(message)
    const live = await connect(this.#dependencies, record, state, principal)
    const answer = await live.transport.ask(message)
    if (isJSONRPCErrorResponse(answer)) {
      await live.server.close()
      return jsonResponse(answer)
    }
    try {
      const ended = await store.create(record, { ...limits, usedSinceMs: nowMs - limits.idleMs })
      for (const idHash of ended) await this.#dropLocal(idHash)
    } catch (error) {
      await live.server.close()
      throw error
    }
    this.#local.set(record.idHash, live)
    return jsonResponseWith(answer, { 'Mcp-Session-Id': id })
  }

  /** Returns the principal's session with the given id, no matter which process began it. */
  async find(id: string | null, principal: Principal): Promise<Session | undefined> {
    if (id === null || !/^[\w-]{43}$/.test(id)) return undefined
    const { store, system } = this.#dependencies
    const idHash = sha256(id)
    const nowMs = system.now()
    let live = this.#local.get(idHash)
    if (live !== undefined && live.principalId !== principal.id) return undefined
    if (live === undefined || nowMs - live.checkedAtMs >= recheckMs) {
      const record = await store.find(idHash)
      if (record !== undefined && record.principalId !== principal.id) return undefined
      if (record === undefined || this.#isOver(record, live, nowMs)) {
        await this.#dropLocal(idHash)
        if (record !== undefined) await store.remove(idHash)
        return undefined
      }
      live ??= await this.#revive(record, principal)
      live.checkedAtMs = nowMs
    }
    live.latest.principal = principal
    this.#touch(live, nowMs)
    return live
  }

  async end({ idHash }: Session): Promise<void> {
    await this.#dependencies.store.remove(idHash)
    await this.#dropLocal(idHash)
  }

  /**
   * Closes the sessions in this process that have been idle for too long. A session with a running request or an open
   * stream is not idle.
   */
  sweep(): void {
    const { system, log } = this.#dependencies
    const nowMs = system.now()
    for (const live of [...this.#local.values()]) {
      if (isInUse(live)) this.#touch(live, nowMs)
      else if (this.#isOver(live, live, nowMs)) {
        this.#dropLocal(live.idHash).catch((error: unknown) => log.warn({ err: error }, 'a session was not closed'))
      }
    }
  }

  /**
   * Closes the streams whose credentials are no longer valid. With `principals`, checks only their streams. A host that
   * gets a newer credential can resume its streams.
   */
  async recheck(isValid: (credential: string) => Promise<boolean>, principals?: ReadonlySet<string>): Promise<void> {
    for (const { streams, latest, principalId } of [...this.#local.values()]) {
      if (principals?.has(principalId) === false) continue
      if (streams.openCount() > 0 && !(await isValid(latest.principal.credential))) streams.close()
    }
  }

  local(): Iterable<Session> {
    return this.#local.values()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#local.keys()].map((idHash) => this.#dropLocal(idHash)))
  }

  async #dropLocal(idHash: string): Promise<void> {
    const live = this.#local.get(idHash)
    this.#local.delete(idHash)
    await live?.server.close()
  }

  #touch(live: Live, nowMs: number): void {
    const { store, log } = this.#dependencies
    live.usedAtMs = nowMs
    if (nowMs - live.touchedAtMs < touchMs) return
    live.touchedAtMs = nowMs
    store.touch(live.idHash, nowMs).catch((error: unknown) => log.warn({ err: error }, 'a session was not updated'))
  }

  /**
   * Returns whether the session has been idle for too long. The store records when any process used the session, but
   * only once a minute. This process also knows exactly when it last used the session itself.
   */
  #isOver({ usedAtMs }: Pick<SessionRecord, 'usedAtMs'>, live: Live | undefined, nowMs: number): boolean {
    const isIdle = Math.max(usedAtMs, live?.usedAtMs ?? 0) + this.#dependencies.limits.idleMs <= nowMs
    return isIdle && (live === undefined || !isInUse(live))
  }

  /** Revives a stored session in this process. Concurrent requests for the session share one revival. */
  async #revive(record: SessionRecord, principal: Principal): Promise<Live> {
    const revived = this.#building.get(record.idHash) ?? this.#replay(record, principal)
    this.#building.set(record.idHash, revived)
    try {
      return await revived
    } finally {
      this.#building.delete(record.idHash)
    }
  }

  /** Creates a new MCP server for a session, and replays the `initialize` request that began the session. */
  async #replay(record: SessionRecord, principal: Principal): Promise<Live> {
    const state = JSON.parse(record.state) as State
    const live = await connect(this.#dependencies, record, state, principal)
    await live.transport.ask({ jsonrpc: '2.0', id: 'replayed', method: 'initialize', params: state.initialize })
    await live.transport.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
    this.#local.set(record.idHash, live)
    return live
  }
}

function isInUse({ transport, streams }: Session): boolean {
  return transport.running() > 0 || streams.openCount() > 0
}

async function connect(
  dependencies: SessionsDependencies,
  { idHash, principalId, partyId, usedAtMs }: SessionRecord,
  { instanceId, isOneRun, toolsets, readOnly }: State,
  principal: Principal,
): Promise<Live> {
  const latest = { principal }
  const streams = new SessionStreams({ ...dependencies, idHash })
  const transport = new SessionTransport({ ...dependencies, idHash, streams })
  const server = dependencies.createServer({
    principal: () => latest.principal,
    instanceId,
    isOneRun,
    toolsets: toolsets ?? undefined,
    readOnly,
    era: 'legacy',
    cut: (id) => transport.cut(id),
  })
  const nowMs = dependencies.system.now()
  const times = { usedAtMs: nowMs, touchedAtMs: usedAtMs, checkedAtMs: nowMs }
  const live: Live = { idHash, principalId, partyId, server, transport, streams, latest, ...times }
  await server.connect(transport)
  return live
}

/** Returns the state to store, without the extra fields that a host may send in `initialize`. */
function stateOf({ params }: JSONRPCRequest, { toolsets, readOnly }: Surface, run: Run): State {
  const { protocolVersion, capabilities, clientInfo } = (params ?? {}) as State['initialize']
  return { ...run, toolsets: toolsets ?? null, readOnly, initialize: { protocolVersion, capabilities, clientInfo } }
}

function tooLargeResponse({ id }: JSONRPCRequest): Response {
  const message = `The initialize request is too large: send at most ${stateLimit} characters of capabilities and clientInfo.`
  return refusalResponse({ status: 400, code: rpc.invalidRequest, message, id })
}
