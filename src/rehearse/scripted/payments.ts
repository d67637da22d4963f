import { money } from '../../core/money.ts'
import type { Paying } from '../goal.ts'
import { done, NotDone } from './steps.ts'
import type { Answered, Tools } from './tools.ts'

type Payment = Answered<'getPayment'>

/** The wait for a person's decision: first as long as calls can wait, then a day of the sandbox's clock. */
const waitSeconds = 50
const longWaitSeconds = 60 * 60
const shortWaits = 3
const longWaits = 24

/** Converts a written amount to cents. @throws NotDone if it has neither dollars nor cents */
export function centsOf(amount: string): number {
  const [, sign, whole, fraction = '', unit] =
    /^(\$?)\s*([\d,]+)(?:\.(\d{1,2}))?\s*(dollars?|USD|cents?)?$/i.exec(amount.trim()) ?? []
  const number = Number(whole?.replaceAll(',', ''))
  if (Number.isNaN(number) || (sign === '' && unit === undefined)) throw new NotDone(`${amount} is no amount of money.`)
  return /^cents?$/i.test(unit ?? '') ? number : number * 100 + Number(fraction.padEnd(2, '0'))
}

/** Asks for a payment to a handle. */
export async function askToPay(tools: Tools, { to, for: description }: Paying, cents: number) {
  const counterparty = { type: 'handle' as const, value: to }
  return tools.call('createPayment', { amount: cents, counterparty, description })
}

/** Waits until a payment is decided, or for a day. Returns the payment. */
export async function awaited(tools: Tools, paymentId: string): Promise<Payment> {
  for (let waits = 0; ; waits++) {
    const isShort = waits < shortWaits
    const asked = isShort ? { paymentId, waitSeconds } : { paymentId }
    const payment = done(await tools.call('getPayment', asked), 'Reading the payment')
    if (payment.attributes.status !== 'IN_REVIEW' || waits === shortWaits + longWaits) return payment
    if (!isShort) done(await tools.call('advanceSandboxClock', { seconds: longWaitSeconds }), 'Waiting')
  }
}

/** Describes the outcome of a payment. */
export function toldOf({ attributes }: Payment, { to }: Pick<Paying, 'to'>): string {
  const amount = money(attributes.amount)
  if (attributes.status === 'COMPLETED') return `${to} was paid ${amount}.`
  if (attributes.status === 'IN_REVIEW') return `${to} was not paid: ${amount} still waits for somebody's approval.`
  if (attributes.status === 'APPROVAL_DENIED') return `${to} was not paid: a person refused ${amount}.`
  return `The payment of ${amount} to ${to} is ${attributes.status}.`
}
