import type { sandboxClock } from '../../../tools/sandbox-clock.ts'
import { failAttribute, show } from '../../core/errors.ts'
import { lastMomentMs, parseTimestamp, timestamp } from '../../core/system.ts'
import type { HandlersOf } from '../request/handler.ts'
import { moveClock, readTimes } from '../store/clock.ts'

export const sandboxClockHandlers = {
  getSandboxClock: async (_input, { nowMs }) => clockView(nowMs),

  advanceSandboxClock: async ({ seconds, to }, { tx, afterCommit }) => {
    // This lock makes concurrent requests move the clock one after the other.
    await tx.lock('clock')
    const { nowMs } = await readTimes(tx)
    const targetMs = target(nowMs, seconds, to)
    if (targetMs > lastMomentMs)
      failAttribute(to === undefined ? 'seconds' : 'to', 'The sandbox clock cannot go beyond the year 9995.')
    await moveClock(tx, targetMs - nowMs)
    afterCommit.timeMoved = true
    return clockView(targetMs)
  },
} satisfies HandlersOf<typeof sandboxClock>

/**
 * The longest time by which one call can move the clock: about ten years, the same as the maximum of `seconds`. This
 * limits how many effects one call can make due.
 */
const maxAdvanceMs = 316_224_000_000

function target(nowMs: number, seconds: number | undefined, to: string | undefined): number {
  if ((seconds === undefined) === (to === undefined)) {
    failAttribute('seconds', 'Send either seconds (how far to move the clock) or to (the new time), not both.')
  }
  if (to === undefined) return nowMs + (seconds ?? 0) * 1000
  const toMs = parseTimestamp(to)
  if (toMs <= nowMs)
    failAttribute('to', `to must be later than the current sandbox time ${timestamp(nowMs)}, got ${show(to)}.`)
  if (toMs - nowMs > maxAdvanceMs)
    failAttribute('to', `to must be at most ten years after ${timestamp(nowMs)}, got ${show(to)}.`)
  return toMs
}

function clockView(nowMs: number) {
  return { type: 'clock' as const, id: 'clock' as const, attributes: { now: timestamp(nowMs) } }
}
