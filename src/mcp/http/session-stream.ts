import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import type { SessionStore } from '../../core/session-store.ts'
import type { System } from '../../core/system.ts'
import { type EventResponse, messageEvent } from './event-response.ts'
import type { Limits } from './limits.ts'
import { rpc } from './responses.ts'

interface StreamDependencies {
  id: string
  idHash: string
  store: SessionStore
  system: Pick<System, 'now'>
  limits: Limits
  log: Log
  /** Called once, when everything was sent and stored. */
  onEnd: () => void
  /** Called when the reader has taken all of a completed stream. */
  onDelivered: (sequence: number) => void
}

/** A sequence of events that outlives the response that carries it. */
export class SessionStream {
  readonly id: string
  readonly #dependencies: StreamDependencies
  #sequence = 0
  #ended = false
  #response: EventResponse | undefined
  /** Secret messages, kept in memory while their call runs, for a host that lost its connection. */
  readonly #held = new Map<string, string>()
  /** Stores each event before it is sent, in order, so that a host can resume after any event that it read. */
  #queue: Promise<void> = Promise.resolve()

  constructor(dependencies: StreamDependencies) {
    this.id = dependencies.id
    this.#dependencies = dependencies
  }

  /** Returns whether a host is reading the stream. */
  isRead(): boolean {
    return this.#response !== undefined && !this.#response.ended.aborted
  }

  /** Sends a message after the earlier ones. `last` ends the stream. For a secret message, only a note is stored. */
  send(message: JSONRPCMessage, { last = false, isSecret }: { last?: boolean; isSecret: boolean }): void {
    if (this.#ended) return
    const { limits, onDelivered } = this.#dependencies
    this.#sequence += 1
    const number = this.#sequence
    this.#next(async () => {
      const text = JSON.stringify(message)
      const reason = isSecret ? secretWords : text.length > limits.eventBytes ? tooLargeWords : undefined
      if (isSecret && !last) keepNewest(this.#held, String(number), text, limits.eventsPerStream)
      // The event is stored before it is sent, because a host that is not reading now may resume later.
      const stored = reason === undefined ? text : JSON.stringify(standIn(message, reason))
      const event = messageEvent(text, await this.#store(number, stored))
      this.#response?.write(event)
      if (!last) return
      this.#response?.delivered.then((isDelivered) => isDelivered && onDelivered(number))
      this.end()
    })
  }

  /** Continues over this response with the events after `afterSequence`, and ends the previous response. */
  attach(response: EventResponse, afterSequence: number): void {
    const { store, idHash } = this.#dependencies
    this.#next(async () => {
      const missed = afterSequence < this.#sequence ? await store.readEvents(idHash, this.id, afterSequence) : []
      this.#response?.end()
      this.#response = response
      for (const { message, sequence } of missed) {
        const text = this.#held.get(String(sequence)) ?? message
        if (text !== canceled) response.write(messageEvent(text, eventId(this.id, sequence)))
        // Writes at the reader's pace: all events at once might exceed the limit of unread bytes.
        await response.untilTaken()
      }
      if (this.#ended) response.end()
    })
  }

  /** Ends the stream for good without an answer, so that there is nothing to resume. */
  cancel(): void {
    if (this.#ended) return
    this.#sequence += 1
    const number = this.#sequence
    this.#next(async () => {
      await this.#store(number, canceled)
      this.end()
    })
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#response?.end()
    this.#dependencies.onEnd()
  }

  #next(work: () => Promise<void>): void {
    const { log } = this.#dependencies
    this.#queue = this.#queue.then(work).catch((error: unknown) => log.error({ err: error }, 'a stream failed'))
  }

  /** Stores an event. Returns the id to resume after; undefined if it could not be stored. */
  async #store(sequence: number, message: string): Promise<string | undefined> {
    const { idHash, store, system, log } = this.#dependencies
    const { eventsPerStream, eventsPerSession, eventCharactersPerSession } = this.#dependencies.limits
    const event = { idHash, streamId: this.id, sequence, message, sentAtMs: system.now() }
    const bounds = { perStream: eventsPerStream, perSession: eventsPerSession, characters: eventCharactersPerSession }
    try {
      await store.appendEvent(event, bounds)
      return eventId(this.id, sequence)
    } catch (error) {
      // The current reader still gets the event.
      log.warn({ err: error }, 'an event is not resumable')
      return undefined
    }
  }
}

/** Stored in place of the answer in a canceled stream. */
const canceled = ''

/** Builds an id that is unique within a session: the stream's id, and the position in the stream. */
export function eventId(streamId: string, sequence: number): string {
  return `${streamId}.${sequence}`
}

/** Parses a `Last-Event-ID`; undefined if it is not one of ours. */
export function parseEventId(text: string): { streamId: string; sequence: number } | undefined {
  const [, streamId, sequence] = /^([gp][\w-]{12})\.(\d{1,9})$/.exec(text) ?? []
  return streamId === undefined ? undefined : { streamId, sequence: Number(sequence) }
}

/** Returns whether the message is the last of a request's stream. */
export function isLast(message: string): boolean {
  if (message === canceled) return true
  const parsed = JSON.parse(message) as object
  return 'id' in parsed && !('method' in parsed)
}

const tooLargeWords = 'This message was too large to be stored for a resumption.'
const secretWords = 'This message contained a secret, so it was not stored for a resumption.'

/** Returns the message that is stored in place of a secret or a message that is too large. */
function standIn(message: JSONRPCMessage, text: string): JSONRPCMessage {
  if ('method' in message) {
    return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', data: text } }
  }
  const advice = 'Call again. Repeat a write with the same idempotencyKey, so that nothing happens twice.'
  return { jsonrpc: '2.0', id: message.id ?? '', error: { code: rpc.internal, message: `${text} ${advice}` } }
}
