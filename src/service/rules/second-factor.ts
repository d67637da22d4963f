/** The seconds that a time-based code is of; what authenticator apps take for granted (RFC 6238 section 5.2). */
export const stepSeconds = 30
/** Codes of this many steps before and after the present one count: people type, and clocks differ. */
const tolerance = 1
/** More refused codes than this in `triesWindowMs`, and none is looked at. Six digits would fall to patience. */
export const mostRefused = 5
export const triesWindowMs = 15 * 60_000

/** The tries of a user's codes; instants in real time. */
export interface Tries {
  /** The step of the last code that was accepted; null before the first. */
  lastStep: number | null
  refusedAtMs: readonly number[]
}

export type Verdict = 'accepted' | 'wrong' | 'expired' | 'used' | 'too_many'

interface Typed {
  /** The step that the code is of, far beyond the tolerance too; null when it is of none. */
  step: number | null
  presentStep: number
  nowMs: number
}

/** Judges a code, and gives what is to be remembered of it. */
export function judge(before: Tries, { step, presentStep, nowMs }: Typed): { verdict: Verdict; tries: Tries } {
  const lately = refusedLately(before, nowMs)
  if (lately.length >= mostRefused) return { verdict: 'too_many', tries: { ...before, refusedAtMs: lately } }
  const verdict = fits(before, step, presentStep)
  if (verdict === 'accepted') return { verdict, tries: { lastStep: step, refusedAtMs: lately } }
  return { verdict, tries: { ...before, refusedAtMs: [...lately, nowMs] } }
}

/** When codes are looked at again; null while they are. */
export function blockedUntilMs(tries: Tries, nowMs: number): number | null {
  const lately = refusedLately(tries, nowMs)
  return lately.length >= mostRefused ? Math.min(...lately) + triesWindowMs : null
}

function fits({ lastStep }: Tries, step: number | null, presentStep: number): Exclude<Verdict, 'too_many'> {
  if (step === null || step > presentStep + tolerance) return 'wrong'
  if (step < presentStep - tolerance) return 'expired'
  // RFC 6238 section 5.2: a code is accepted once. Nor is one from before it: who saw the later code may have seen it.
  return lastStep !== null && step <= lastStep ? 'used' : 'accepted'
}

function refusedLately({ refusedAtMs }: Tries, nowMs: number): number[] {
  return refusedAtMs.filter((atMs) => nowMs - atMs < triesWindowMs)
}
