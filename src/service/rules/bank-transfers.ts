import type { withdrawalMethods } from '../../../tools/bank-transfers.ts'
import { fail } from '../../core/errors.ts'
import { afterBankingDays, isBankingDay } from './banking-days.ts'
import { dayMs } from './calendar.ts'
import type { PaymentStatus } from './payments.ts'
import { type BankReason, bankAnswer } from './test-bank.ts'
import { next, type Transitions } from './transitions.ts'

export type BankMethod = (typeof withdrawalMethods)[number]

/**
 * The events of a transfer. `submit` means that the bank receives the transfer. `settle`, `fail` and `return` are the
 * bank's later actions.
 */
export type BankEvent = 'submit' | 'review' | 'deny' | 'cancel' | 'settle' | 'fail' | 'return'

/**
 * The transitions of a transfer from or to a bank account (docs/service.md#bank-transfers). A bank may return a
 * transfer that it has settled.
 */
export const bankTransitions = {
  CREATED: { submit: 'PROCESSING', review: 'IN_REVIEW' },
  IN_REVIEW: { submit: 'PROCESSING', deny: 'APPROVAL_DENIED', cancel: 'CANCELED' },
  PROCESSING: { settle: 'COMPLETED', fail: 'FAILED' },
  COMPLETED: { return: 'RETURNED' },
  PENDING_CLAIM: {},
  FAILED: {},
  CANCELED: {},
  RETURNED: {},
  APPROVAL_DENIED: {},
} as const satisfies Transitions<PaymentStatus, BankEvent>

/** Returns the status of a transfer after an event. @throws 409 `conflict` if `bankTransitions` forbids the event. */
export function nextBankStatus(status: PaymentStatus, event: BankEvent): PaymentStatus {
  const after = next<PaymentStatus, BankEvent>(bankTransitions, status, event)
  return after ?? fail('conflict', { detail: `A transfer that is ${status} does not allow ${event}. ${hints[event]}` })
}

const hints: Readonly<Record<BankEvent, string>> = {
  submit: 'The transfer was already submitted, denied or canceled.',
  review: 'The transfer was already submitted, denied or canceled.',
  deny: 'The transfer was already submitted, denied or canceled.',
  cancel: 'Only a transfer that is IN_REVIEW can be canceled, because its bank has not received it yet.',
  settle: 'Only a PROCESSING transfer can be settled, and only once.',
  fail: 'Only a PROCESSING transfer can fail; a COMPLETED one can be returned.',
  return: 'Only a COMPLETED transfer can be returned; a PROCESSING one can fail.',
}

/** The payment network for each method. */
export const rails = { standard: 'ach', instant: 'rtp', wire: 'wire' } as const satisfies Record<BankMethod, string>

const instantMs = 5 * 60_000
const wireMs = 2 * 60 * 60_000

/**
 * Returns when a bank settles a transfer that it receives at `nowMs` (docs/service.md#bank-transfers). A standard
 * withdrawal settles when the banks close their books on the next banking day, and a standard deposit one banking day
 * later.
 */
export function settlesAt(direction: 'deposit' | 'withdrawal', method: BankMethod, nowMs: number): number {
  if (method === 'instant') return nowMs + instantMs
  if (method === 'standard') return afterBankingDays(nowMs, direction === 'deposit' ? 2 : 1)
  const isSameDay = Math.floor(nowMs / dayMs) === Math.floor((nowMs + wireMs) / dayMs)
  return isSameDay && isBankingDay(nowMs) ? nowMs + wireMs : afterBankingDays(nowMs, 1)
}

/** The bank's default reasons for refusing or returning a transfer. */
export const defaultReasons: Readonly<Record<'fail' | 'return', Record<'deposit' | 'withdrawal', BankReason>>> = {
  fail: {
    deposit: { code: 'R01', reason: 'Insufficient funds' },
    withdrawal: { code: 'R03', reason: 'No account' },
  },
  return: {
    deposit: { code: 'R10', reason: 'Customer advises not authorized' },
    withdrawal: { code: 'R02', reason: 'Account closed' },
  },
}

/**
 * Returns the direction of a kind of transfer. If a payment request is paid from a bank account, the payment counts as
 * a deposit, because a deposit also takes money from a bank account.
 */
export const directionOf = (kind: string): 'deposit' | 'withdrawal' =>
  kind === 'withdrawal' ? 'withdrawal' : 'deposit'

/**
 * The bank's next action, with a reason if the bank refuses or returns the transfer. `nextDueAtMs` is the time of the
 * bank's following action; null if there is none.
 */
export interface BankStep extends BankReason {
  does: 'settle' | 'fail' | 'return'
  nextDueAtMs: number | null
}

const settling = { does: 'settle', code: '', reason: '' } as const

interface Due {
  kind: string
  status: PaymentStatus
  bankDueAtMs: number | null
}

/** Returns the test bank's next action for a transfer. */
export function nextAtBank({ kind, status, bankDueAtMs }: Due, bankAccountId: string): BankStep {
  const answer = bankAnswer(bankAccountId, directionOf(kind))
  if (status === 'COMPLETED' && answer.does === 'returns') {
    return { does: 'return', code: answer.code, reason: answer.reason, nextDueAtMs: null }
  }
  if (answer.does === 'fails') return { does: 'fail', code: answer.code, reason: answer.reason, nextDueAtMs: null }
  return { ...settling, nextDueAtMs: bankDueAtMs === null ? null : returnsAt(kind, bankAccountId, bankDueAtMs) }
}

/** Returns when the test bank returns a transfer that settled at `settledAtMs`; null if the bank never returns it. */
export function returnsAt(kind: string, bankAccountId: string, settledAtMs: number): number | null {
  const answer = bankAnswer(bankAccountId, directionOf(kind))
  return answer.does === 'returns' ? afterBankingDays(settledAtMs, answer.afterBankingDays) : null
}
