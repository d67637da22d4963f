import { keepNewest } from '../../core/bounded-map.ts'
import { type System, sha256 } from '../../core/system.ts'

/** Seconds between two questions of a device whether its code was allowed (RFC 8628 section 3.2). */
export const pollSeconds = 5
/** Networks deliver sooner and later: a question this much too early is in time. */
const toleranceMs = 1000
/** Codes of which the last question is remembered. */
const mostRemembered = 10_000

/**
 * Tells whether a device asks too fast (RFC 8628 section 3.5). Time counts from the last question that was answered, so
 * that one that never learns to wait is answered in the end all the same. Counted in this process.
 */
export function createDevicePolls(system: System): (deviceCode: string) => boolean {
  const answered = new Map<string, number>()
  return (deviceCode) => {
    const code = sha256(deviceCode)
    const nowMs = system.now()
    const before = answered.get(code)
    if (before !== undefined && nowMs - before < pollSeconds * 1000 - toleranceMs) return true
    keepNewest(answered, code, nowMs, mostRemembered)
    return false
  }
}
