import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import type { System } from '../../core/system.ts'
import { type EventResponse, messageEvent } from './event-response.ts'
import type { Limits } from './limits.ts'
import { rpc } from './responses.ts'
import type { SessionStore } from './session-store.ts'

/** A sequence of events that outlives the connection it is read over. */
export interface SessionStream {
  readonly id: string
  /** Whether somebody reads it. */
  connected(): boolean
  /** Sends behind what was sent before; `last` ends the stream, and of a secret only that there was one is stored. */
  send(message: JSONRPCMessage, how: { last?: boolean; isSecret: boolean }): void
  /** Goes on over this connection, from the event after that one; another connection of it ends. */
  attach(connection: EventResponse, afterSequence: number): void
  /** Ends it without an answer, for good: nothing will come that could be resumed. */
  cancel(): void
  end(): void
}

export interface StreamOptions {
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

export function createStream({
  id,
  idHash,
  store,
  system,
  limits,
  log,
  onEnd,
  onDelivered,
}: StreamOptions): SessionStream {
  let sequence = 0
  let ended = false
  let connection: EventResponse | undefined
  // Secrets that go on waiting here for a host that lost its connection, while the call runs that asks for them.
  const held = new Map<string, string>()
  // What is sent is kept first, so that an event that was read can be resumed after; both in the order of sending.
  let queue: Promise<void> = Promise.resolve()
  const next = (work: () => Promise<void>) => {
    queue = queue.then(work).catch((error: unknown) => log.error({ err: error }, 'a stream failed'))
    return queue
  }
  const end = () => {
    if (ended) return
    ended = true
    connection?.end()
    onEnd()
  }
  const keep = async (number: number, message: string) => {
    try {
      const { eventsPerStream: perStream, eventsPerSession: perSession, eventCharactersPerSession: characters } = limits
      const event = { idHash, streamId: id, sequence: number, message, sentAtMs: system.now() }
      await store.appendEvent(event, { perStream, perSession, characters })
      return eventId(id, number)
    } catch (error) {
      // Who reads it now gets it nevertheless.
      log.warn({ err: error }, 'an event is not resumable')
      return undefined
    }
  }
  return {
    id,
    connected: () => connection !== undefined && !connection.ended.aborted,
    send: (message, { last = false, isSecret }) => {
      if (ended) return
      sequence += 1
      const number = sequence
      next(async () => {
        const text = JSON.stringify(message)
        const reason = isSecret ? secretWords : text.length > limits.eventBytes ? tooLargeWords : undefined
        if (isSecret && !last) keepNewest(held, String(number), text, limits.eventsPerStream)
        // Kept first: nobody may be reading now, and resume later.
        const kept = reason === undefined ? text : JSON.stringify(standIn(message, reason))
        const event = messageEvent(text, await keep(number, kept))
        connection?.write(event)
        if (!last) return
        connection?.delivered.then((isDelivered) => isDelivered && onDelivered(number))
        end()
      })
    },
    attach: (fresh, afterSequence) =>
      next(async () => {
        const missed = afterSequence < sequence ? await store.readEvents(idHash, id, afterSequence) : []
        connection?.end()
        connection = fresh
        for (const { message, sequence: number } of missed) {
          const text = held.get(String(number)) ?? message
          if (text !== canceled) fresh.write(messageEvent(text, eventId(id, number)))
          // At the reader's pace: all of it at once might be more than may wait for a reader.
          await fresh.taken()
        }
        if (ended) fresh.end()
      }),
    cancel: () => {
      if (ended) return
      sequence += 1
      const number = sequence
      next(async () => {
        await keep(number, canceled)
        end()
      })
    },
    end,
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

/** What is stored in place of a message that is not. */
function standIn(message: JSONRPCMessage, text: string): JSONRPCMessage {
  if ('method' in message) {
    return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', data: text } }
  }
  const advice = 'Call again, a write with the same idempotencyKey: nothing happens twice.'
  return { jsonrpc: '2.0', id: message.id ?? '', error: { code: rpc.internal, message: `${text} ${advice}` } }
}
