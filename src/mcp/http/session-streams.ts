import type { Log } from '../../client/client.ts'
import { newSecret, type System } from '../../core/system.ts'
import { type EventResponse, firstEvent, messageEvent, openEventResponse } from './event-response.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { Limits } from './limits.ts'
import { refused, rpc, streamResponse } from './responses.ts'
import type { SessionStore } from './session-store.ts'
import { createStream, eventId, isLast, parseEventId, type SessionStream } from './session-stream.ts'
import type { Sweeper } from './sweeper.ts'

/** The event streams of one session in this process. */
export interface SessionStreams {
  /** A stream for what a request brings about, and the response that carries it. */
  openForRequest(primed: boolean): { stream: SessionStream; response: Response }
  /** Serves a GET: a stream for what comes by itself, or the resumption of one that was interrupted. */
  listen(lastEventId: string | null, primed: boolean): Promise<Response>
  /** The stream for what comes by itself; a request needs one that somebody reads. */
  listened(isRead: boolean): SessionStream | undefined
  /** How many are being read. */
  open(): number
  close(): void
}

export interface SessionStreamsOptions {
  idHash: string
  store: SessionStore
  system: System
  limits: Limits
  heartbeats: Heartbeats
  sweeper: Pick<Sweeper, 'delivered'>
  log: Log
}

export function createSessionStreams(options: SessionStreamsOptions): SessionStreams {
  const { idHash, store, system, limits, heartbeats, sweeper, log } = options
  // Few at a time, and mostly none: an empty list takes next to nothing, and there may be thousands of sessions.
  let connections: EventResponse[] = []
  let streams: SessionStream[] = []
  // Those that hosts listen on, the newest last.
  let listening: SessionStream[] = []

  const connect = () => {
    const connection = openEventResponse(limits.unreadBytes)
    connections = [...connections, connection]
    const forget = () => {
      connections = connections.filter((other) => other !== connection)
    }
    connection.ended.addEventListener('abort', forget, { once: true })
    heartbeats.keep(connection)
    return connection
  }
  // The kind stands first: only a request's stream has an end to wait for.
  const create = (kind: 'g' | 'p') => {
    const id = `${kind}${newSecret(system, 9)}`
    const onEnd = () => {
      streams = streams.filter((other) => other.id !== id)
    }
    const onDelivered = (sequence: number) => sweeper.delivered(idHash, id, sequence)
    const stream = createStream({ id, idHash, store, system, limits, log, onEnd, onDelivered })
    streams = [...streams, stream]
    return stream
  }

  const known = (id: string | undefined) => streams.find((stream) => stream.id === id)

  const listenAnew = async (connection: EventResponse, after: ReturnType<typeof parseEventId>, primed: boolean) => {
    // What an interrupted one missed stays in the store, for a resumption later.
    for (const interrupted of listening.filter((other) => !other.connected())) interrupted.end()
    const stream = create('g')
    listening = [...listening.filter((other) => other.connected()), stream]
    if (after !== undefined) {
      const missed = await store.readEvents(idHash, after.streamId, after.sequence)
      for (const event of missed) connection.write(messageEvent(event.message, eventId(after.streamId, event.sequence)))
    }
    if (primed) connection.write(firstEvent(eventId(stream.id, 0)))
    stream.attach(connection, 0)
  }
  return {
    openForRequest: (primed) => {
      const stream = create('p')
      const connection = connect()
      if (primed) connection.write(firstEvent(eventId(stream.id, 0)))
      stream.attach(connection, 0)
      return { stream, response: streamResponse(connection.body) }
    },
    listen: async (lastEventId, primed) => {
      const after = lastEventId === null ? undefined : parseEventId(lastEventId)
      if (lastEventId !== null && after === undefined) return badEventId()
      // The one that the host names stays: it tells whether there is another.
      if (after !== undefined && after.sequence > 1)
        await store.forgetEvents(idHash, after.streamId, after.sequence - 1)
      if (connections.length >= limits.streamsPerSession && known(after?.streamId)?.connected() !== true) {
        return tooManyStreams(limits.streamsPerSession)
      }
      const interrupted = known(after?.streamId)
      const isRequest = after?.streamId.startsWith('p') === true
      if (after !== undefined && interrupted === undefined && isRequest) {
        return (await resumeFromStore(connect, after, options)) ?? nothingMore()
      }
      const connection = connect()
      if (after !== undefined && interrupted !== undefined) interrupted.attach(connection, after.sequence)
      else await listenAnew(connection, after, primed)
      return streamResponse(connection.body)
    },
    listened: (isRead) => listening.findLast((stream) => stream.connected()) ?? (isRead ? undefined : listening.at(-1)),
    open: () => connections.length,
    close: () => {
      for (const connection of [...connections]) connection.end()
    },
  }
}

/** The rest of a request's stream that is not of this process, or is answered; undefined when nothing will come. */
async function resumeFromStore(
  connect: () => EventResponse,
  { streamId, sequence }: { streamId: string; sequence: number },
  options: SessionStreamsOptions,
): Promise<Response | undefined> {
  const { idHash, store } = options
  // With the event that the host has: after the last one there is no other.
  const events = await store.readEvents(idHash, streamId, sequence - 1)
  const missed = events.filter((event) => event.sequence > sequence)
  const known = events.find((event) => event.sequence === sequence)
  if (known !== undefined && isLast(known.message)) return undefined
  // Delivered to its end or too old, and so forgotten.
  if (sequence > 0 && events.length === 0) return undefined
  if (missed.every(({ message }) => message === '') && (missed.length > 0 || !store.shared)) return undefined
  const connection = connect()
  follow(connection, streamId, sequence, options)
  return streamResponse(connection.body)
}

/** Writes the rest of a request's stream from the store, waiting for another process that runs the request. */
async function follow(
  connection: EventResponse,
  streamId: string,
  afterSequence: number,
  { idHash, store, system, limits, log }: SessionStreamsOptions,
): Promise<void> {
  const untilMs = system.elapsed() + limits.followMs
  let after = afterSequence
  try {
    while (!connection.ended.aborted) {
      for (const { sequence, message } of await store.readEvents(idHash, streamId, after)) {
        if (message !== '') connection.write(messageEvent(message, eventId(streamId, sequence)))
        await connection.taken()
        after = sequence
        if (isLast(message)) return
      }
      if (!store.shared || system.elapsed() >= untilMs) return
      await system.sleep(limits.pollMs, connection.ended)
    }
  } catch (error) {
    if (!connection.ended.aborted) log.warn({ err: error }, 'a stream was not resumed')
  } finally {
    connection.end()
  }
}

/** Tells a host to stop resuming (HTML, server-sent events: 204). */
function nothingMore(): Response {
  return new Response(null, { status: 204 })
}

function badEventId(): Response {
  const message = 'Last-Event-ID is none of this server. Send the id of the last event that was received, or none.'
  return refused({ status: 400, code: rpc.invalidRequest, message })
}

function tooManyStreams(limit: number): Response {
  const message = `${limit} streams of this session are open. Close one before opening another.`
  return refused({ status: 429, code: rpc.server, message, headers: { 'Retry-After': '5' } })
}
