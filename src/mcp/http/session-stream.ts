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
  /** Called once, when the stream ends. */
  onEnd: () => void
  /** Called when the host has taken all events of a completed stream; `sequence` is the number of the last event. */
  onDelivered: (sequence: number) => void
}

/**
 * A sequence of events. The stream outlives its HTTP response, so that the host can resume the stream over a new
 * response.
 */
export class SessionStream {
  readonly id: string
  readonly #dependencies: StreamDependencies
  #sequence = 0
  #ended = false
  #response: EventResponse | undefined
  /** Secret messages, by sequence number. They are never stored, only held here until the stream ends. */
  readonly #held = new Map<string, string>()
  /**
   * The queue of steps, which run one after another. Each event is stored before it is sent, so that a host can resume
   * after any event that it read.
   */
  #queue: Promise<void> = Promise.resolve()

  constructor(dependencies: StreamDependencies) {
    this.id = dependencies.id
    this.#dependencies = dependencies
  }

  /** Returns whether a host is reading the stream. */
  isRead(): boolean {
    return this.#response !== undefined && !this.#response.ended.aborted
  }

  /**
   * Sends a message after all earlier messages, and stores it so that a host can resume the stream. Stores only a note
   * in place of a message that is secret or too large. If `last` is true, ends the stream after this message.
   */
  send(message: JSONRPCMessage, { last = false, isSecret }: { last?: boolean; isSecret: boolean }): void {
    if (this.#ended) return
    const { limits, onDelivered } = this.#dependencies
    this.#sequence += 1
    const number = this.#sequence
    this.#next(async () => {
      const text = JSON.stringify(message)
      const reason = isSecret ? secretWords : text.length > limits.eventBytes ? tooLargeWords : undefined
      if (isSecret && !last) keepNewest(this.#held, String(number), text, limits.eventsPerStream)
      const stored = reason === undefined ? text : JSON.stringify(standIn(message, reason))
      const event = messageEvent(text, await this.#store(number, stored))
      this.#response?.write(event)
      if (!last) return
      this.#response?.delivered.then((isDelivered) => isDelivered && onDelivered(number))
      this.end()
    })
  }

  /** Continues the stream over `response` with the events after `afterSequence`. Ends the previous response. */
  attach(response: EventResponse, afterSequence: number): void {
    const { store, idHash } = this.#dependencies
    this.#next(async () => {
      const missed = afterSequence < this.#sequence ? await store.readEvents(idHash, this.id, afterSequence) : []
      this.#response?.end()
      this.#response = response
      for (const { message, sequence } of missed) {
        const text = this.#held.get(String(sequence)) ?? message
        if (text !== canceled) response.write(messageEvent(text, eventId(this.id, sequence)))
        // Waits until the host has read the event. Without this wait, the response might buffer more unread bytes than
        // its limit allows, and would then end.
        await response.untilTaken()
      }
      if (this.#ended) response.end()
    })
  }

  /**
   * Ends the stream without an answer. If a host tries to resume the stream, the response tells it not to reconnect.
   */
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

  /**
   * Stores an event. Returns the event's id, with which a host can resume; undefined if the event could not be stored.
   */
  async #store(sequence: number, message: string): Promise<string | undefined> {
    const { idHash, store, system, log } = this.#dependencies
    const { eventsPerStream, eventsPerSession, eventCharactersPerSession } = this.#dependencies.limits
    const event = { idHash, streamId: this.id, sequence, message, sentAtMs: system.now() }
    const bounds = { perStream: eventsPerStream, perSession: eventsPerSession, characters: eventCharactersPerSession }
    try {
      await store.appendEvent(event, bounds)
      return eventId(this.id, sequence)
    } catch (error) {
      // A host that is reading now still gets the event.
      log.warn({ err: error }, 'an event could not be stored')
      return undefined
    }
  }
}

/** The message that is stored in place of an answer if the stream is canceled. */
const canceled = ''

/** Builds an event's id from its stream's id and its sequence number. The event's id is unique within a session. */
export function eventId(streamId: string, sequence: number): string {
  return `${streamId}.${sequence}`
}

/** Parses a `Last-Event-ID`; returns undefined if it does not have the form of an id from this server. */
export function parseEventId(text: string): { streamId: string; sequence: number } | undefined {
  const [, streamId, sequence] = /^([gp][\w-]{12})\.(\d{1,9})$/.exec(text) ?? []
  return streamId === undefined ? undefined : { streamId, sequence: Number(sequence) }
}

/** Returns whether the message ends a request's stream. */
export function isLast(message: string): boolean {
  if (message === canceled) return true
  const parsed = JSON.parse(message) as object
  return 'id' in parsed && !('method' in parsed)
}

const tooLargeWords = 'This message was too large to be stored, so it cannot be sent again.'
const secretWords = 'This message contained a secret, so it was not stored and cannot be sent again.'

/** Returns the message that is stored in place of one that is secret or too large. */
function standIn(message: JSONRPCMessage, reason: string): JSONRPCMessage {
  if ('method' in message) {
    return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', data: reason } }
  }
  const advice = 'Call again. Repeat a write with the same idempotencyKey, so that nothing happens twice.'
  return { jsonrpc: '2.0', id: message.id ?? '', error: { code: rpc.internal, message: `${reason} ${advice}` } }
}
