import { deadline } from '../../core/system.ts'
import type { EventResponse } from './event-response.ts'

export type Heartbeats = ReturnType<typeof createHeartbeats>

/**
 * Writes to open streams now and then, so that no proxy between takes a quiet one for dead. `beat` runs each time: the
 * streams that are open keep their sessions from ending.
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
    keep: (response: EventResponse) => {
      responses.add(response)
      response.ended.addEventListener('abort', () => responses.delete(response), { once: true })
      timer ??= deadline(everyMs, tick)
    },
    close: () => timer?.clear(),
  }
}
