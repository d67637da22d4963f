import { describe, expect, test } from 'vitest'
import { type BankEvent, bankTransitions, nextBankStatus } from '../../src/service/rules/bank-transfers.ts'
import { isFinal } from '../../src/service/rules/final-states.ts'
import { paymentStatuses } from '../../tools/payments.ts'

/** The next status for each status and event that the specification allows. Independent of the service's table. */
const flow: Record<string, string> = {
  'CREATED submit': 'PROCESSING',
  'CREATED review': 'IN_REVIEW',
  'IN_REVIEW submit': 'PROCESSING',
  'IN_REVIEW deny': 'APPROVAL_DENIED',
  'IN_REVIEW cancel': 'CANCELED',
  'PROCESSING settle': 'COMPLETED',
  'PROCESSING fail': 'FAILED',
  'COMPLETED return': 'RETURNED',
}
const events = ['submit', 'review', 'deny', 'cancel', 'settle', 'fail', 'return'] as const satisfies BankEvent[]

describe('the states of a bank transfer', () => {
  test('the transition table lists exactly the payment statuses of the API', () =>
    expect(Object.keys(bankTransitions).sort()).toEqual([...paymentStatuses].sort()))

  test.each(paymentStatuses.flatMap((status) => events.map((event) => [status, event] as const)))(
    'a transfer that is %s handles the event %s as specified',
    (status, event) => {
      const after = flow[`${status} ${event}`]
      if (after !== undefined) expect(nextBankStatus(status, event)).toBe(after)
      else expect(() => nextBankStatus(status, event)).toThrow(`A transfer that is ${status} does not allow ${event}.`)
    },
  )

  test('a caller waits only for a transfer that is CREATED, PROCESSING or IN_REVIEW', () => {
    const notFinal = paymentStatuses.filter((status) => !isFinal({ type: 'transfer', attributes: { status } }))
    expect(notFinal).toEqual(['CREATED', 'PROCESSING', 'IN_REVIEW'])
  })
})
