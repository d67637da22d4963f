/**
 * The length of a time step, in seconds. Each step has its own code. Authenticator apps assume this length (RFC 6238
 * section 5.2).
 */
export const stepSeconds = 30
/**
 * Codes of this many steps before and after the current step are accepted too: typing takes time, and clocks differ.
 */
const tolerance = 1
/**
 * If this many codes were refused in the last `triesWindowMs` milliseconds, further codes are refused without being
 * checked. Without this limit, a six-digit code could be guessed.
 */
export const maxRefused = 5
export const triesWindowMs = 15 * 60_000

/** The results of the codes that a user has tried. Times are from the real clock, not the sandbox clock. */
export interface Tries {
  /** The step of the last accepted code; null if none was accepted yet. */
  lastStep: number | null
  refusedAtMs: readonly number[]
}

export type Verdict = 'accepted' | 'wrong' | 'expired' | 'used' | 'too_many'

interface TypedCode {
  /**
   * The time step that the code belongs to, even if the step is far outside the tolerance; null if none of the searched
   * steps has this code.
   */
  step: number | null
  presentStep: number
  nowMs: number
}

/** Returns the verdict on a code, and the tries to store. */
export function judge(before: Tries, { step, presentStep, nowMs }: TypedCode): { verdict: Verdict; tries: Tries } {
  const lately = refusedLately(before, nowMs)
  if (lately.length >= maxRefused) return { verdict: 'too_many', tries: { ...before, refusedAtMs: lately } }
  const verdict = verdictOnStep(before, step, presentStep)
  if (verdict === 'accepted') return { verdict, tries: { lastStep: step, refusedAtMs: lately } }
  return { verdict, tries: { ...before, refusedAtMs: [...lately, nowMs] } }
}

/** Returns the time from which codes are checked again; null if they are checked now. */
export function blockedUntilMs(tries: Tries, nowMs: number): number | null {
  const lately = refusedLately(tries, nowMs)
  return lately.length >= maxRefused ? Math.min(...lately) + triesWindowMs : null
}

function verdictOnStep({ lastStep }: Tries, step: number | null, presentStep: number): Exclude<Verdict, 'too_many'> {
  if (step === null || step > presentStep + tolerance) return 'wrong'
  if (step < presentStep - tolerance) return 'expired'
  // RFC 6238 section 5.2: a code is accepted only once. Codes of earlier steps are refused too: others may know them.
  return lastStep !== null && step <= lastStep ? 'used' : 'accepted'
}

function refusedLately({ refusedAtMs }: Tries, nowMs: number): number[] {
  return refusedAtMs.filter((atMs) => nowMs - atMs < triesWindowMs)
}
