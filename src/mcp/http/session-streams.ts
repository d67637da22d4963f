import type { Log } from '../../client/client.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { newSecret, type System } from '../../core/system.ts'
import { EventResponse, firstEvent, messageEvent } from './event-response.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { Limits } from './limits.ts'
import { refusalResponse, rpc, streamResponse } from './responses.ts'
import { eventId, isLast, parseEventId, SessionStream } from './session-stream.ts'
import type { Sweeper } from './sweeper.ts'

interface StreamsDependencies {
  idHash: string
  store: SessionStore
  system: System
  limits: Limits
  heartbeats: Heartbeats
  sweeper: Pick<Sweeper, 'recordDelivery'>
  log: Log
}

type EventPosition = NonNullable<ReturnType<typeof parseEventId>>

/** The event streams of one session in this process. */
export class SessionStreams {
  readonly #dependencies: StreamsDependencies
  // There may be thousands of sessions, and most have no stream. An empty array takes less memory than an empty map.
  #responses: readonly EventResponse[] = []
  #streams: readonly SessionStream[] = []
  /** The streams for messages that belong to no request, newest last. */
  #listening: readonly SessionStream[] = []

  constructor(dependencies: StreamsDependencies) {
    this.#dependencies = dependencies
  }

  /** Opens a stream for the messages of a request, and the response that carries it. */
  openForRequest(withFirstEvent: boolean): { stream: SessionStream; response: Response } {
    const stream = this.#create('p')
    const response = this.#open()
    if (withFirstEvent) response.write(firstEvent(eventId(stream.id, 0)))
    stream.attach(response, 0)
    return { stream, response: streamResponse(response.body) }
  }

  /** Serves a GET request: opens a stream for messages that belong to no request, or resumes an interrupted stream. */
  async listen(lastEventId: string | null, withFirstEvent: boolean): Promise<Response> {
    const { idHash, store, limits } = this.#dependencies
    const after = lastEventId === null ? undefined : parseEventId(lastEventId)
    if (lastEventId !== null && after === undefined) return badEventId()
    // The host has received all events up to this id. The last of them is not deleted, because it shows whether the
    // stream has ended.
    if (after !== undefined && after.sequence > 1) await store.forgetEvents(idHash, after.streamId, after.sequence - 1)
    const interrupted = this.#streams.find(({ id }) => id === after?.streamId)
    if (this.#responses.length >= limits.streamsPerSession && interrupted?.isRead() !== true) {
      return tooManyStreams(limits.streamsPerSession)
    }
    if (after !== undefined && interrupted === undefined && after.streamId.startsWith('p')) {
      return (await resumeFromStore(() => this.#open(), after, this.#dependencies)) ?? noContentResponse()
    }
    const response = this.#open()
    if (after !== undefined && interrupted !== undefined) interrupted.attach(response, after.sequence)
    else await this.#listenAnew(response, after, withFirstEvent)
    return streamResponse(response.body)
  }

  /**
   * Returns the newest stream for messages that belong to no request, preferably one that the host is reading. With
   * `mustBeRead`, returns only a stream that the host is reading.
   */
  generalStream(mustBeRead: boolean): SessionStream | undefined {
    const read = this.#listening.findLast((stream) => stream.isRead())
    return read ?? (mustBeRead ? undefined : this.#listening.at(-1))
  }

  /** Returns the number of open streams. */
  openCount(): number {
    return this.#responses.length
  }

  close(): void {
    for (const response of this.#responses) response.end()
  }

  #open(): EventResponse {
    const { limits, heartbeats } = this.#dependencies
    const response = new EventResponse(limits.unreadBytes)
    this.#responses = [...this.#responses, response]
    const forget = () => {
      this.#responses = this.#responses.filter((other) => other !== response)
    }
    response.ended.addEventListener('abort', forget, { once: true })
    heartbeats.add(response)
    return response
  }

  /**
   * Creates a stream. The id of a request's stream begins with `p` (POST), and the id of any other stream with `g`
   * (GET).
   */
  #create(kind: 'g' | 'p'): SessionStream {
    const { system, sweeper, idHash } = this.#dependencies
    const id = `${kind}${newSecret(system, 9)}`
    const onEnd = () => {
      this.#streams = this.#streams.filter((other) => other.id !== id)
    }
    const onDelivered = (sequence: number) => sweeper.recordDelivery(idHash, id, sequence)
    const stream = new SessionStream({ ...this.#dependencies, id, onEnd, onDelivered })
    this.#streams = [...this.#streams, stream]
    return stream
  }

  async #listenAnew(response: EventResponse, after: EventPosition | undefined, withFirstEvent: boolean): Promise<void> {
    const { idHash, store } = this.#dependencies
    // The host can still resume the streams that end here, because the store keeps the events that the host missed.
    for (const interrupted of this.#listening.filter((other) => !other.isRead())) interrupted.end()
    const stream = this.#create('g')
    this.#listening = [...this.#listening.filter((other) => other.isRead()), stream]
    if (after !== undefined) {
      const missed = await store.readEvents(idHash, after.streamId, after.sequence)
      for (const event of missed) response.write(messageEvent(event.message, eventId(after.streamId, event.sequence)))
    }
    if (withFirstEvent) response.write(firstEvent(eventId(stream.id, 0)))
    stream.attach(response, 0)
  }
}

/**
 * Resumes the stream of a request that another process runs, or that is already answered. Sends the stored events that
 * the host missed. Returns undefined if there is nothing left to send.
 */
async function resumeFromStore(
  open: () => EventResponse,
  { streamId, sequence }: { streamId: string; sequence: number },
  dependencies: StreamsDependencies,
): Promise<Response | undefined> {
  const { idHash, store } = dependencies
  // The last event that the host received is read too, because it shows whether the stream has ended.
  const events = await store.readEvents(idHash, streamId, sequence - 1)
  const missed = events.filter((event) => event.sequence > sequence)
  const foundEvent = events.find((event) => event.sequence === sequence)
  if (foundEvent !== undefined && isLast(foundEvent.message)) return undefined
  // The events were all deleted, because they were delivered or too old.
  if (sequence > 0 && events.length === 0) return undefined
  if (missed.length > 0 && missed.every(({ message }) => message === '')) return undefined
  const response = open()
  follow(response, streamId, sequence, dependencies)
  return streamResponse(response.body)
}

/**
 * Writes the stored events of a request's stream after `afterSequence`, and any events that another process adds to the
 * store meanwhile.
 */
async function follow(
  response: EventResponse,
  streamId: string,
  afterSequence: number,
  { idHash, store, system, limits, log }: StreamsDependencies,
): Promise<void> {
  const untilMs = system.elapsed() + limits.followMs
  let after = afterSequence
  try {
    while (!response.ended.aborted) {
      for (const { sequence, message } of await store.readEvents(idHash, streamId, after)) {
        if (message !== '') response.write(messageEvent(message, eventId(streamId, sequence)))
        await response.untilTaken()
        after = sequence
        if (isLast(message)) return
      }
      if (system.elapsed() >= untilMs) return
      await system.sleep(limits.pollMs, response.ended)
    }
  } catch (error) {
    if (!response.ended.aborted) log.warn({ err: error }, 'a stream could not be resumed')
  } finally {
    response.end()
  }
}

/** Returns status 204, which tells a host not to reconnect (HTML standard, section on server-sent events). */
function noContentResponse(): Response {
  return new Response(null, { status: 204 })
}

function badEventId(): Response {
  const message =
    'Last-Event-ID is not from this server. Send the id of the last event that you received, or leave the header out.'
  return refusalResponse({ status: 400, code: rpc.invalidRequest, message })
}

function tooManyStreams(limit: number): Response {
  const message = `${limit} streams of this session are open. Close one before opening another.`
  return refusalResponse({ status: 429, code: rpc.server, message, headers: { 'Retry-After': '5' } })
}
