import { deadline } from '../../core/system.ts'
import type { EventResponse } from './event-response.ts'

/** Writes to open streams now and then, so that no proxy between takes a quiet one for dead. */
export interface Heartbeats {
  keep(response: EventResponse): void
  close(): void
}

/** `beat` runs with every one of them: the streams that are open keep their sessions from ending. */
export function createHeartbeats(everyMs: number, beat: () => void): Heartbeats {
  const responses = new Set<EventResponse>()
  let timer: ReturnType<typeof deadline> | undefined
  const tick = () => {
    timer = undefined
    for (const response of [...responses]) response.beat()
    beat()
    if (responses.size > 0) timer = deadline(everyMs, tick)
  }
  return {
    keep: (response) => {
      responses.add(response)
      response.ended.addEventListener('abort', () => responses.delete(response), { once: true })
      timer ??= deadline(everyMs, tick)
    },
    close: () => timer?.clear(),
  }
}
