import type { FaultKind } from '../../../../core/faults.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { TimedKind } from '../../../rules/failed-effects.ts'

export const kindWords = {
  shop: 'Shop order is shipped, charged or refunded',
  bank: 'Bank transfer settles, fails or is returned',
  hold: 'Purchase hold expires',
  subscription: 'Subscription is charged',
  invitation: 'Customer invitation expires',
  request: 'Payment request expires',
} as const satisfies Record<TimedKind, string>

export const faultWords = {
  error: 'Returns an error. Nothing is done.',
  slow: 'Responds late.',
  hang: 'Never responds. Nothing is done.',
  reset: 'Cuts the connection. Nothing is done.',
  effect_then_lost: 'The request takes effect, but the connection is cut before the response.',
  effect_then_503: 'The request takes effect, but the response is a 503.',
  stale: 'Reads return the state before the last change.',
  empty_page: 'Lists return no items.',
} as const satisfies Record<FaultKind, string>

/** Describes the approximate length of a positive or negative time span, such as `6 days`. */
export function distance(ms: number): string {
  const units = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1000],
  ] as const
  const [unit, size] = units.find(([, one]) => Math.abs(ms) >= one) ?? (['second', 1000] as const)
  const count = Math.round(Math.abs(ms) / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/**
 * The reason why a session that began with a one-click sign-in cannot manage the sandbox during a rehearsal. Any
 * program on this machine can sign in with one click, so the rehearsed agent could have done so.
 */
export const unproven =
  'An agent is being rehearsed in this world, and it could have signed in with one click, just as you did. Sign out, then sign in with your password.'

/** Returns a world's digest (its name and the beginning of its hash), made safe to show. */
export const worldName = (digest: string | null) => foreignName(digest ?? '', 'Unknown', 120)

export const address = '/console/sandbox'

/** Returns the address from which the page requests one of its parts. */
export const partAddress = (part: 'clock' | 'faults' | 'snapshots') => `${address}?part=${part}`
