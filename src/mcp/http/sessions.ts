import {
  type InitializeRequest,
  isJSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Server,
} from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { newSecret, type System, sha256 } from '../../core/system.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { HostContext, Principal, Surface } from './host-context.ts'
import type { Limits } from './limits.ts'
import { jsonResponse, jsonResponseWith, refused, rpc } from './responses.ts'
import type { SessionRecord, SessionStore } from './session-store.ts'
import { createSessionStreams, type SessionStreams } from './session-streams.ts'
import { createSessionTransport, type SessionTransport } from './session-transport.ts'
import type { Sweeper } from './sweeper.ts'

/** A 2025-era session as this process serves it. */
export interface Session {
  readonly idHash: string
  readonly principalId: string
  readonly server: Server
  readonly transport: SessionTransport
  readonly streams: SessionStreams
}

export interface Sessions {
  /** Serves an `initialize`: the answer brings the id of a new session. */
  open(principal: Principal, message: JSONRPCRequest, surface: Surface, instanceId: string): Promise<Response>
  /** The session with that id where it is the principal's; wherever it was begun. */
  find(id: string | null, principal: Principal): Promise<Session | undefined>
  end(session: Session): Promise<void>
  /** Ends in this process what nobody has used for long; what is in use stays. */
  sweep(): void
  /** Ends the streams that are read with a credential that is nobody's any more; a host with a newer one resumes. */
  recheck(isValid: (credential: string) => Promise<boolean>): Promise<void>
  here(): Iterable<Session>
  close(): Promise<void>
}

export interface SessionsOptions {
  createServer: (connection: HostContext) => Server
  store: SessionStore
  system: System
  limits: Limits
  heartbeats: Heartbeats
  sweeper: Pick<Sweeper, 'delivered'>
  /** Whether a message must not be kept; `request` is what it answers or belongs to. */
  isSecret: (message: JSONRPCMessage, request: JSONRPCRequest | undefined) => boolean
  /** What processes know their own questions by, the same in all of them. */
  sealKey: string
  log: Log
}

/** What a process needs to go on with a session. */
interface State extends Pick<HostContext, 'instanceId' | 'readOnly'> {
  toolsets: HostContext['toolsets'] | null
  initialize: InitializeRequest['params']
}

interface Live extends Session {
  /** Serves it from now on with that credential of its principal's. */
  use(newest: Principal): void
  credential(): string
  usedAtMs: number
  touchedAtMs: number
  /** When the store last had it. */
  checkedAtMs: number
}

/** How late this process may learn that another one ended a session; credentials are checked every time. */
const recheckMs = 1_000
/** How exactly the store knows when a session was used. */
const touchMs = 60_000
/** A host tells its name, version and capabilities in less. */
const stateLimit = 32 * 1024

export function createSessions(options: SessionsOptions): Sessions {
  const { store, system, limits, log } = options
  const here = new Map<string, Live>()
  const building = new Map<string, Promise<Live>>()

  const drop = async (live: Live) => {
    if (here.get(live.idHash) === live) here.delete(live.idHash)
    await live.server.close()
  }
  const touch = (live: Live, nowMs: number) => {
    live.usedAtMs = nowMs
    if (nowMs - live.touchedAtMs < touchMs) return
    live.touchedAtMs = nowMs
    store.touch(live.idHash, nowMs).catch((error: unknown) => log.warn({ err: error }, 'a session was not touched'))
  }
  const inUse = ({ transport, streams }: Session) => transport.running() > 0 || streams.open() > 0
  /** The store knows of every process's use, to the minute; this process of its own exactly. */
  const isOver = (record: Pick<SessionRecord, 'usedAtMs'>, live: Live | undefined, nowMs: number) =>
    Math.max(record.usedAtMs, live?.usedAtMs ?? 0) + limits.idleMs <= nowMs && (live === undefined || !inUse(live))
  const endHere = async (idHash: string, record: SessionRecord | undefined) => {
    const live = here.get(idHash)
    if (live !== undefined) await drop(live)
    if (record !== undefined) await store.remove(idHash)
  }
  const sweep = () => {
    const nowMs = system.now()
    for (const live of [...here.values()]) {
      if (inUse(live)) touch(live, nowMs)
      else if (isOver(live, live, nowMs)) drop(live).catch((error: unknown) => log.warn({ err: error }, 'session'))
    }
  }
  /** Makes the session of a record live here, once, however many requests ask for it at the same time. */
  const revive = async (record: SessionRecord, principal: Principal): Promise<Live> => {
    let revived = building.get(record.idHash)
    if (revived === undefined) {
      revived = (async () => {
        const state = JSON.parse(record.state) as State
        const live = await connect(options, record, state, principal)
        await live.transport.ask({ jsonrpc: '2.0', id: 'replayed', method: 'initialize', params: state.initialize })
        await live.transport.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
        here.set(record.idHash, live)
        return live
      })()
      building.set(record.idHash, revived)
    }
    try {
      return await revived
    } finally {
      building.delete(record.idHash)
    }
  }

  return {
    open: async (principal, message, surface, instanceId) => {
      sweep()
      const id = newSecret(system)
      const nowMs = system.now()
      const state = stateOf(message, surface, instanceId)
      const record = {
        idHash: sha256(id),
        principalId: principal.id,
        partyId: principal.partyId,
        state: JSON.stringify(state),
        createdAtMs: nowMs,
        usedAtMs: nowMs,
      }
      if (record.state.length > stateLimit) return tooMuch(message)
      const live = await connect(options, record, state, principal)
      const answer = await live.transport.ask(message)
      if (isJSONRPCErrorResponse(answer)) {
        await live.server.close()
        return jsonResponse(answer)
      }
      try {
        const ended = await store.create(record, { ...limits, usedSinceMs: nowMs - limits.idleMs })
        for (const idHash of ended) await endHere(idHash, undefined)
      } catch (error) {
        await live.server.close()
        throw error
      }
      here.set(record.idHash, live)
      return jsonResponseWith(answer, { 'Mcp-Session-Id': id })
    },
    find: async (id, principal) => {
      if (id === null || !/^[\w-]{43}$/.test(id)) return undefined
      const idHash = sha256(id)
      const nowMs = system.now()
      let live = here.get(idHash)
      if (live !== undefined && live.principalId !== principal.id) return undefined
      if (live === undefined || !store.shared || nowMs - live.checkedAtMs >= recheckMs) {
        const record = await store.find(idHash)
        if (record !== undefined && record.principalId !== principal.id) return undefined
        if (record === undefined || isOver(record, live, nowMs)) {
          await endHere(idHash, record)
          return undefined
        }
        live ??= await revive(record, principal)
        live.checkedAtMs = nowMs
      }
      live.use(principal)
      touch(live, nowMs)
      return live
    },
    end: async (session) => {
      await store.remove(session.idHash)
      const live = here.get(session.idHash)
      if (live !== undefined) await drop(live)
    },
    sweep,
    recheck: async (isValid) => {
      for (const live of [...here.values()]) {
        if (live.streams.open() > 0 && !(await isValid(live.credential()))) live.streams.close()
      }
    },
    here: () => here.values(),
    close: async () => {
      await Promise.all([...here.values()].map(drop))
    },
  }
}

async function connect(options: SessionsOptions, record: SessionRecord, state: State, principal: Principal) {
  const { createServer, system } = options
  const { idHash, principalId, usedAtMs } = record
  const streams = createSessionStreams({ ...options, idHash })
  const transport = createSessionTransport({ ...options, idHash, streams })
  let newest = principal
  const server = createServer({
    principal: () => newest,
    instanceId: state.instanceId,
    toolsets: state.toolsets ?? undefined,
    readOnly: state.readOnly,
    era: 'legacy',
  })
  const nowMs = system.now()
  const live: Live = {
    idHash,
    principalId,
    server,
    transport,
    streams,
    use: (used) => {
      newest = used
    },
    credential: () => newest.credential,
    usedAtMs: nowMs,
    touchedAtMs: usedAtMs,
    checkedAtMs: nowMs,
  }
  await server.connect(transport)
  return live
}

/** Of `initialize`, only what the protocol defines is kept: a host may send what is not meant for a database. */
function stateOf({ params }: JSONRPCRequest, { toolsets, readOnly }: Surface, instanceId: string): State {
  const { protocolVersion, capabilities, clientInfo } = (params ?? {}) as State['initialize']
  return { instanceId, toolsets: toolsets ?? null, readOnly, initialize: { protocolVersion, capabilities, clientInfo } }
}

function tooMuch({ id }: JSONRPCRequest): Response {
  const message = `The initialize request is too large: send at most ${stateLimit} characters of capabilities and clientInfo.`
  return refused({ status: 400, code: rpc.invalidRequest, message, id })
}
