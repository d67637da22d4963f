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
  /** Called once, when everything was sent and kept. */
  onEnd: () => void
  /** Called when the reader has taken all of a stream that was sent to its end. */
  onDelivered: (sequence: number) => void
}

/** A sequence of events that outlives the response it is read over. */
export class SessionStream {
  readonly id: string
  readonly #dependencies: StreamDependencies
  #sequence = 0
  #ended = false
  #response: EventResponse | undefined
  /** Secrets that go on waiting here for a host that lost its connection, while the call runs that asks for them. */
  readonly #held = new Map<string, string>()
  /** Stores each event and then sends it, in order, so that a host can resume after any event that it read. */
  #queue: Promise<void> = Promise.resolve()

  constructor(dependencies: StreamDependencies) {
    this.id = dependencies.id
    this.#dependencies = dependencies
  }

  /** Whether somebody reads it. */
  isRead(): boolean {
    return this.#response !== undefined && !this.#response.ended.aborted
  }

  /** Sends behind what was sent before; `last` ends the stream, and of a secret only that there was one is stored. */
  send(message: JSONRPCMessage, { last = false, isSecret }: { last?: boolean; isSecret: boolean }): void {
    if (this.#ended) return
    const { limits, onDelivered } = this.#dependencies
    this.#sequence += 1
    const number = this.#sequence
    this.#next(async () => {
      const text = JSON.stringify(message)
      const reason = isSecret ? secretWords : text.length > limits.eventBytes ? tooLargeWords : undefined
      if (isSecret && !last) keepNewest(this.#held, String(number), text, limits.eventsPerStream)
      // Kept first: nobody may be reading now, and resume later.
      const kept = reason === undefined ? text : JSON.stringify(standIn(message, reason))
      const event = messageEvent(text, await this.#keep(number, kept))
      this.#response?.write(event)
      if (!last) return
      this.#response?.delivered.then((isDelivered) => isDelivered && onDelivered(number))
      this.end()
    })
  }

  /** Goes on over this response, from the event after that one; another response of it ends. */
  attach(fresh: EventResponse, afterSequence: number): void {
    const { store, idHash } = this.#dependencies
    this.#next(async () => {
      const missed = afterSequence < this.#sequence ? await store.readEvents(idHash, this.id, afterSequence) : []
      this.#response?.end()
      this.#response = fresh
      for (const { message, sequence } of missed) {
        const text = this.#held.get(String(sequence)) ?? message
        if (text !== canceled) fresh.write(messageEvent(text, eventId(this.id, sequence)))
        // At the reader's pace: all of it at once might be more than may wait for a reader.
        await fresh.taken()
      }
      if (this.#ended) fresh.end()
    })
  }

  /** Ends it without an answer, for good: nothing will come that could be resumed. */
  cancel(): void {
    if (this.#ended) return
    this.#sequence += 1
    const number = this.#sequence
    this.#next(async () => {
      await this.#keep(number, canceled)
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

  /** The id to resume after; undefined where the event could not be kept. */
  async #keep(sequence: number, message: string): Promise<string | undefined> {
    const { idHash, store, system, log } = this.#dependencies
    const { eventsPerStream, eventsPerSession, eventCharactersPerSession } = this.#dependencies.limits
    const event = { idHash, streamId: this.id, sequence, message, sentAtMs: system.now() }
    const bounds = { perStream: eventsPerStream, perSession: eventsPerSession, characters: eventCharactersPerSession }
    try {
      await store.appendEvent(event, bounds)
      return eventId(this.id, sequence)
    } catch (error) {
      // The current reader still gets it.
      log.warn({ err: error }, 'an event is not resumable')
      return undefined
    }
  }
}

/** Stands where an answer would, in a stream that gets none. */
const canceled = ''

/** Unique over a session: a stream's id, and where in the stream. */
export function eventId(streamId: string, sequence: number): string {
  return `${streamId}.${sequence}`
}

/** The parts of a `Last-Event-ID`; undefined for what is none of ours. */
export function parseEventId(text: string): { streamId: string; sequence: number } | undefined {
  const [, streamId, sequence] = /^([gp][\w-]{12})\.(\d{1,9})$/.exec(text) ?? []
  return streamId === undefined ? undefined : { streamId, sequence: Number(sequence) }
}

/** Whether it is the last of a request's stream. */
export function isLast(message: string): boolean {
  if (message === canceled) return true
  const parsed = JSON.parse(message) as object
  return 'id' in parsed && !('method' in parsed)
}

const tooLargeWords = 'It was too large to be kept for a resumption.'
const secretWords = 'It had a secret in it, so it was not kept for a resumption.'

/** Returns the message that is stored in place of one that is not. */
function standIn(message: JSONRPCMessage, text: string): JSONRPCMessage {
  if ('method' in message) {
    return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', data: text } }
  }
  const advice = 'Call again, a write with the same idempotencyKey: nothing happens twice.'
  return { jsonrpc: '2.0', id: message.id ?? '', error: { code: rpc.internal, message: `${text} ${advice}` } }
}
