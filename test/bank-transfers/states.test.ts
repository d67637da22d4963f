import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BankEvent, bankTransitions, nextBankStatus } from '../../src/service/rules/bank-transfers.ts'
import { isFinal } from '../../src/service/rules/final-states.ts'
import { paymentStatuses } from '../../tools/payments.ts'
import { proveBooks } from '../ledger/books.ts'
import { ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { bank, hour } from './bank.ts'

/** Written out once more, independently of the table of the domain. */
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
  test('are those of the wire', () => expect(Object.keys(bankTransitions).sort()).toEqual([...paymentStatuses].sort()))

  test.each(paymentStatuses.flatMap((status) => events.map((event) => [status, event] as const)))(
    '%s and %s',
    (status, event) => {
      const after = flow[`${status} ${event}`]
      if (after !== undefined) expect(nextBankStatus(status, event)).toBe(after)
      else expect(() => nextBankStatus(status, event)).toThrow(`A transfer that is ${status} does not allow ${event}.`)
    },
  )

  test('are waited for until the money arrived, or will not', () => {
    const waited = paymentStatuses.filter((status) => !isFinal({ type: 'transfer', attributes: { status } }))
    expect(waited).toEqual(['CREATED', 'PROCESSING', 'IN_REVIEW'])
  })
})

const perTransaction = 1000
type Kind = 'deposit' | 'withdrawal'
type Act = 'approve' | 'deny' | 'settle' | 'fail' | 'return'
type Step =
  | { do: Kind; amount: number; method: 'standard' | 'instant' | 'wire' }
  | { do: Act; which: number }
  | { do: 'pass'; hours: number }
  | { do: 'unlink' }

const which = fc.nat(5)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('deposit' as const, 'withdrawal' as const),
      amount: fc.constantFrom(100, 700, 1000, 1001, 3000),
      method: fc.constantFrom('standard' as const, 'instant' as const, 'wire' as const),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('approve' as const, 'deny' as const, 'settle' as const, 'fail' as const, 'return' as const),
      which,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), hours: fc.constantFrom(1, 30, 200) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unlink' as const) }) },
)

interface Moved {
  id: string
  kind: Kind
  amount: number
  status: string
  dueMs: number
}

/** The expected movements of money, modeled independently of the service. */
class Model {
  available = 2000
  readonly all: Moved[] = []

  get held(): number {
    const held = this.all.filter(({ kind, status }) => kind === 'withdrawal' && status === 'PROCESSING')
    return held.reduce((sum, { amount }) => sum + amount, 0)
  }

  submit(one: Moved): boolean {
    if (one.kind === 'withdrawal' && one.amount > this.available) return false
    if (one.kind === 'withdrawal') this.available -= one.amount
    one.status = 'PROCESSING'
    return true
  }

  /** Whether the bank, or whoever decides, may do so. */
  act(does: string, one: Moved): boolean {
    const after = flow[`${one.status} ${does}`]
    if (after === undefined) return false
    one.status = after
    if (does === 'fail' && one.kind === 'withdrawal') this.available += one.amount
    if (does === 'settle' && one.kind === 'deposit') this.available += one.amount
    if (does === 'return') this.available += one.kind === 'deposit' ? -one.amount : one.amount
    return true
  }

  pass(nowMs: number): void {
    for (const one of this.all) if (one.status === 'PROCESSING' && one.dueMs <= nowMs) this.act('settle', one)
  }
}

onEachDatabase('any history of bank transfers', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('is what an independent model says after every step', { timeout: 600_000 }, () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const { partyId, apiKey } = await addParty(world, { fundsCents: 2000 })
        const self = payer(world)
        await self.setLimits('parties', partyId, { perTransaction })
        const sent = { key: apiKey }
        const at = bank(world)
        let account = await at.link(undefined, sent)
        const model = new Model()
        for (const one of steps) {
          world.system.pass(1000)
          model.pass(world.system.now())
          if (one.do === 'pass') {
            world.system.pass(one.hours * hour)
            model.pass(world.system.now())
          } else if (one.do === 'unlink') {
            ok(await world.send('DELETE', `/external-accounts/${account}`, sent))
            for (const waiting of model.all) if (waiting.status === 'IN_REVIEW') waiting.status = 'CANCELED'
            account = await at.link(undefined, sent)
          } else if (one.do === 'deposit' || one.do === 'withdrawal') {
            const { do: kind, amount, method } = one
            const moved: Moved = { id: '', kind, amount, status: 'CREATED', dueMs: 0 }
            const isWithdrawal = kind === 'withdrawal'
            const answer = isWithdrawal
              ? await at.tryWithdraw(amount, account, { method }, sent)
              : await at.tryDeposit(amount, account, {}, sent)
            if (isWithdrawal && amount > model.available) expectRefusal(answer, 'conflict', atAmount(model))
            else {
              const { id, attributes } = ok(answer).json.data
              if (amount > perTransaction) moved.status = 'IN_REVIEW'
              else model.submit(moved)
              model.all.push({ ...moved, id, dueMs: dueOf(attributes) })
              expect(attributes.status).toBe(moved.status)
            }
          } else if ('which' in one) await actOn(one.do, model.all[one.which % Math.max(1, model.all.length)])
          const [wallet] = ok(await world.get('/wallets', sent)).json.data
          expect(wallet.attributes.balance).toMatchObject({
            available: model.available,
            total: model.available + model.held,
          })
          await proveBooks(world.store)
        }
        for (const { id, status } of model.all) expect((await at.read(id, sent)).attributes.status).toBe(status)

        async function actOn(does: Act, target: Moved | undefined) {
          if (target === undefined) return
          if (does !== 'approve' && does !== 'deny') {
            const answer = await at.play(target.id, does, undefined, sent)
            if (model.act(does, target)) expect(ok(answer).json.data.attributes.status).toBe(target.status)
            else expectRefusal(answer, 'conflict')
            return
          }
          const approval = await self.approvalOf(target.id, sent)
          if (approval === undefined) return expect(target.amount).toBeLessThanOrEqual(perTransaction)
          const answer = await (does === 'deny'
            ? self.deny(approval.id, undefined, sent)
            : self.approve(approval.id, sent))
          const isAllowed =
            target.status === 'IN_REVIEW' && (does === 'approve' ? model.submit(target) : model.act('deny', target))
          if (!isAllowed) return void expect(answer.status, answer.text).toBe(409)
          expect(ok(answer).json.data.attributes.target).toEqual({ type: target.kind, id: target.id })
          target.dueMs = dueOf((await at.read(target.id, sent)).attributes)
        }
      }),
      { numRuns: database === sqlite ? (isDeep ? 60 : 4) : isDeep ? 20 : 2 },
    ),
  )
})

const dueOf = ({ expectedAvailableAt }: { expectedAvailableAt: string | null }) =>
  expectedAvailableAt === null ? Number.POSITIVE_INFINITY : Date.parse(expectedAvailableAt)

/** A wallet below zero accepts no amount that could be named. */
const atAmount = ({ available }: Model) => (available < 0 ? {} : { source: { pointer: '/data/attributes/amount' } })
