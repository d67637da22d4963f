import { deadline } from '../../core/system.ts'
import type { EventResponse } from './event-response.ts'

export type Heartbeats = ReturnType<typeof createHeartbeats>

/**
 * Creates a timer that writes to all open streams at intervals, so that proxies do not close quiet streams. At each
 * interval, the timer also calls `beat`, so that the caller can keep sessions with open streams alive.
 */
export function createHeartbeats(everyMs: number, beat: () => void) {
  const responses = new Set<EventResponse>()
  let timer: ReturnType<typeof deadline> | undefined
  const tick = () => {
    timer = undefined
    for (const response of [...responses]) response.beat()
    beat()
    if (responses.size > 0) timer = deadline(everyMs, tick)
  }
  return {
    add: (response: EventResponse) => {
      responses.add(response)
      response.ended.addEventListener('abort', () => responses.delete(response), { once: true })
      timer ??= deadline(everyMs, tick)
    },
    close: () => timer?.clear(),
  }
}
