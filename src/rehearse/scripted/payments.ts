import { money } from '../../core/money.ts'
import type { Canceling, Paying } from '../goal.ts'
import { answeredData, NotDone } from './steps.ts'
import type { Answered, Tools } from './tools.ts'

type Payment = Answered<'getPayment'>

/**
 * The agent waits for a person's decision at most three times for 50 s. Then it moves the sandbox clock forward by one
 * hour, at most 24 times.
 */
const waitSeconds = 50
const longWaitSeconds = 60 * 60
const shortWaits = 3
const longWaits = 24

/** Converts a written amount to cents. @throws NotDone if the amount is not a number of dollars or cents */
export function centsOf(amount: string): number {
  const [, sign, whole, fraction = '', unit] =
    /^(\$?)\s*([\d,]+)(?:\.(\d{1,2}))?\s*(dollars?|USD|cents?)?$/i.exec(amount.trim()) ?? []
  const number = Number(whole?.replaceAll(',', ''))
  if (Number.isNaN(number) || (sign === '' && unit === undefined))
    throw new NotDone(`${amount} is not an amount in dollars or cents.`)
  return /^cents?$/i.test(unit ?? '') ? number : number * 100 + Number(fraction.padEnd(2, '0'))
}

/** Requests a payment to a handle. */
export async function askToPay(tools: Tools, { to, for: description }: Pick<Paying, 'to' | 'for'>, cents: number) {
  const counterparty = { type: 'handle' as const, value: to }
  return tools.call('createPayment', { amount: cents, counterparty, description })
}

/** Waits for the decision on a payment, for up to about a day by the sandbox clock. Returns the payment. */
export async function decidedPayment(tools: Tools, paymentId: string): Promise<Payment> {
  for (let waits = 0; ; waits++) {
    const isShort = waits < shortWaits
    const waitInput = isShort ? { paymentId, waitSeconds } : { paymentId }
    const payment = answeredData(await tools.call('getPayment', waitInput), 'Reading the payment')
    if (payment.attributes.status !== 'IN_REVIEW' || waits === shortWaits + longWaits) return payment
    if (!isShort) answeredData(await tools.call('advanceSandboxClock', { seconds: longWaitSeconds }), 'Waiting')
  }
}

/** Describes the outcome of a payment. */
export function outcomeText({ attributes }: Payment, { to }: Pick<Paying, 'to'>): string {
  const amount = money(attributes.amount)
  if (attributes.status === 'COMPLETED') return `${to} was paid ${amount}.`
  if (attributes.status === 'IN_REVIEW')
    return `${to} was not paid: ${amount} is still waiting for somebody's approval.`
  if (attributes.status === 'APPROVAL_DENIED') return `${to} was not paid: a person refused ${amount}.`
  return `The payment of ${amount} to ${to} is ${attributes.status}.`
}

/** The final statuses of payments whose money never reached the payee or was returned. */
const unpaidStatuses: ReadonlySet<string> = new Set(['FAILED', 'CANCELED', 'RETURNED', 'APPROVAL_DENIED'])

/** Finds a completed or pending payment for the same purpose. Returns undefined if there is none. */
export async function earlierPayment(
  tools: Tools,
  goal: Pick<Paying, 'for'> & Partial<Pick<Paying, 'invoice'>>,
): Promise<Payment | undefined> {
  const payments = answeredData(await tools.call('listPayments', { limit: 100 }), 'Listing the payments')
  const isSamePurpose = (description: string) =>
    description === goal.for || (goal.invoice !== undefined && description.includes(goal.invoice))
  return payments.find(
    ({ attributes }) => isSamePurpose(attributes.description ?? '') && !unpaidStatuses.has(attributes.status),
  )
}

/** Explains that nothing was paid, because there is an earlier payment. */
export function earlierPaymentText(
  { attributes: { amount, status, description } }: Payment,
  goal: Pick<Paying, 'for'>,
): string {
  const earlier = `an earlier payment of ${money(amount)} for ${description ?? goal.for}`
  return status === 'COMPLETED'
    ? `Nothing was paid now: ${earlier} was already made.`
    : `Nothing was paid now: ${earlier} is still waiting for somebody's approval.`
}

/** Cancels the payment for a purpose, and checks whether that worked. @throws NotDone if there is no such payment */
export async function cancelPayment(tools: Tools, goal: Canceling): Promise<string> {
  const payment = await earlierPayment(tools, goal)
  if (payment === undefined) throw new NotDone(`There is no payment for ${goal.for} to cancel.`)
  await tools.call('cancelPayment', { paymentId: payment.id })
  const { attributes } = answeredData(await tools.call('getPayment', { paymentId: payment.id }), 'Reading the payment')
  const sentence = `The payment of ${money(attributes.amount)} for ${goal.for}`
  if (attributes.status === 'CANCELED') return `${sentence} is canceled.`
  return `${sentence} could not be canceled: the money has already arrived.`
}
