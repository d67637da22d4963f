import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import type { System } from '../../system.ts'
import { type EventConnection, messageEvent } from './event-connection.ts'
import type { Limits } from './limits.ts'
import { rpc } from './responses.ts'
import type { SessionStore } from './session-store.ts'

/** A sequence of events that outlives the connection it is read over. */
export interface SessionStream {
  readonly id: string
  /** Whether somebody reads it. */
  connected(): boolean
  /** Sends behind what was sent before; `last` ends the stream. */
  send(message: JSONRPCMessage, last: boolean): void
  /** Goes on over this connection, from the event after that one; another connection of it ends. */
  attach(connection: EventConnection, afterSequence: number): void
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
}

export function createStream({ id, idHash, store, system, limits, log, onEnd }: StreamOptions): SessionStream {
  let sequence = 0
  let ended = false
  let connection: EventConnection | undefined
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
      const sentAtMs = system.now()
      await store.appendEvent({ idHash, streamId: id, sequence: number, message, sentAtMs }, limits.eventsPerStream)
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
    send: (message, last) => {
      if (ended) return
      sequence += 1
      const number = sequence
      next(async () => {
        const text = JSON.stringify(message)
        const kept = text.length <= limits.eventBytes ? text : JSON.stringify(tooLarge(message))
        // Kept first: nobody may be reading now, and resume later.
        const event = messageEvent(text, await keep(number, kept))
        connection?.write(event)
        if (last) end()
      })
    },
    attach: (fresh, afterSequence) =>
      next(async () => {
        const missed = afterSequence < sequence ? await store.readEvents(idHash, id, afterSequence) : []
        connection?.end()
        connection = fresh
        for (const { message, sequence: number } of missed) {
          if (message !== canceled) fresh.write(messageEvent(message, eventId(id, number)))
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

function tooLarge(message: JSONRPCMessage): JSONRPCMessage {
  const text = 'It was too large to be kept for a resumption.'
  if ('method' in message) {
    return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', data: text } }
  }
  const advice = 'Call again, a write with the same idempotencyKey: nothing happens twice.'
  return { jsonrpc: '2.0', id: message.id ?? '', error: { code: rpc.internal, message: `${text} ${advice}` } }
}
