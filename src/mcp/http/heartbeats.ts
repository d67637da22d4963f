import { deadline } from '../../core/system.ts'
import type { EventResponse } from './event-response.ts'

export type Heartbeats = ReturnType<typeof createHeartbeats>

/**
 * Creates a timer that writes to open streams at intervals, so that proxies do not close quiet streams. The timer also
 * calls `beat` each time, which keeps sessions with open streams alive.
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
