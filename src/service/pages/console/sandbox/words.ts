import type { FaultKind } from '../../../../core/faults.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { TimedKind } from '../../../rules/failed-effects.ts'

export const kindWords = {
  shop: 'A shop ships, captures or refunds',
  bank: 'A bank settles, fails or returns a transfer',
  hold: 'A hold of a purchase lapses',
  subscription: 'A subscription is charged',
  invitation: 'An invitation of a customer expires',
  request: 'A payment request expires',
} as const satisfies Record<TimedKind, string>

export const faultWords = {
  error: 'The answer is an error, and nothing is done.',
  slow: 'The answer comes late.',
  hang: 'No answer comes, and nothing is done.',
  reset: 'The connection is cut, and nothing is done.',
  effect_then_lost: 'It is done, and the connection is cut before the answer.',
  effect_then_503: 'It is done, and the answer is a 503.',
  stale: 'What is read is as it was before the last change.',
  empty_page: 'A list has no items.',
} as const satisfies Record<FaultKind, string>

/** Returns the rough length of a time span, such as `6 days`, whether it lies ahead or in the past. */
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

/** The notice for a session that began with one click, which any program on this machine could have started. */
export const unproven =
  'An agent is rehearsed in this world, and you are signed in by one click, as it could be: sign out, and sign in with your password.'

/** Returns the world's name with the start of its file's hash. */
export const worldName = (digest: string | null) => foreignName(digest ?? '', 'Not known', 120)

export const address = '/console/sandbox'

/** Returns the address at which the page requests a part. */
export const partAddress = (part: 'clock' | 'faults' | 'snapshots') => `${address}?part=${part}`
