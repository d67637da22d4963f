import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { created, ok, type Payer, payer } from './payer.ts'

type Step =
  | { do: 'pay'; from: 0 | 1; to: 'party' | 'stranger'; amount: number }
  | { do: 'wire'; from: 0 | 1; amount: number }
  | { do: 'fund'; from: 0 | 1; amount: number }
  | { do: 'approve' | 'deny' | 'cancel' | 'claim'; which: number }
  | { do: 'pass'; hours: number }

const from = fc.constantFrom(0 as const, 1 as const)
const amount = fc.constantFrom(1, 50, 100, 101, 300, 900)
const to = fc.constantFrom('party' as const, 'stranger' as const)
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) })
const decision = fc.constantFrom('approve' as const, 'deny' as const, 'cancel' as const, 'claim' as const)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pay' as const), from, to, amount }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wire' as const), from, amount }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fund' as const), from, amount }) },
  { weight: 5, arbitrary: fc.record({ do: decision, which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), hours: fc.constantFrom(1, 12, 24) }) },
)

const funds = 1000
const limits = { perTransaction: 100, perDay: 250 }

interface Sent {
  id: string
  kind: 'payment' | 'wire'
  from: 0 | 1
  toParty: boolean
  amount: number
  status: string
  day: number
}

/** What should become of the money, told independently of the service. */
class Model {
  now: number
  readonly available = [funds, funds]
  readonly sent: Sent[] = []
  outside = 0

  constructor(now: number) {
    this.now = now
  }

  held(party: 0 | 1): number {
    const pending = this.sent.filter((one) => one.from === party && one.status === 'PENDING_CLAIM')
    return pending.reduce((sum, one) => sum + one.amount, 0)
  }

  /** The status that a payment is answered with, or 409. */
  send(one: Omit<Sent, 'id' | 'status' | 'day'>): string | 409 {
    if (one.amount > (this.available[one.from] ?? 0)) return 409
    const day = Math.floor(this.now / 86_400_000)
    const today = this.sent.filter(({ status, ...of }) => {
      return of.from === one.from && of.day === day && !['CANCELED', 'APPROVAL_DENIED', 'IN_REVIEW'].includes(status)
    })
    const spent = today.reduce((sum, { amount }) => sum + amount, 0)
    if (one.amount > limits.perTransaction || spent + one.amount > limits.perDay) return 'IN_REVIEW'
    return this.move(one)
  }

  move(one: Pick<Sent, 'from' | 'kind' | 'toParty' | 'amount'>): string {
    this.available[one.from] = (this.available[one.from] ?? 0) - one.amount
    if (one.kind === 'wire') this.outside += one.amount
    else if (one.toParty) this.available[1 - one.from] = (this.available[1 - one.from] ?? 0) + one.amount
    else return 'PENDING_CLAIM'
    return 'COMPLETED'
  }

  act(action: 'approve' | 'deny' | 'cancel' | 'claim', one: Sent): 200 | 409 {
    const { status } = one
    if (action === 'approve' && status === 'IN_REVIEW') {
      if (one.amount > (this.available[one.from] ?? 0)) return 409
      one.status = this.move(one)
    } else if (action === 'deny' && status === 'IN_REVIEW') one.status = 'APPROVAL_DENIED'
    else if (action === 'cancel' && status === 'IN_REVIEW') one.status = 'CANCELED'
    else if (action === 'cancel' && status === 'PENDING_CLAIM') {
      one.status = 'CANCELED'
      this.available[one.from] = (this.available[one.from] ?? 0) + one.amount
    } else if (action === 'claim' && status === 'PENDING_CLAIM') {
      one.status = 'COMPLETED'
      this.outside += one.amount
    } else return 409
    return 200
  }
}

/** Two organizations whose agents have the same limits. */
async function twoParties(world: World, self: Payer) {
  const parties = [
    await addParty(world, { fundsCents: funds, party: { email: 'left@example.com' } }),
    await addParty(world, { fundsCents: funds, party: { email: 'right@example.com' } }),
  ] as const
  for (const { agentId } of parties) await self.setLimits('agents', agentId, limits)
  return parties
}

type Parties = Awaited<ReturnType<typeof twoParties>>

const beneficiary = {
  name: 'Acme',
  accountNumber: '000123456789',
  routingNumber: '021000021',
  address: { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' },
}

async function take(world: World, self: Payer, parties: Parties, model: Model, one: Step): Promise<void> {
  if (one.do === 'pass') {
    world.system.pass(one.hours * 3_600_000)
    model.now += one.hours * 3_600_000
    return
  }
  world.system.pass(1)
  model.now += 1
  if (one.do === 'fund') {
    const { partyId, agentKey: key } = parties[one.from]
    ok(await world.post(`/simulations/customers/${partyId}/transfers/deposit`, { amount: one.amount }, { key }))
    model.available[one.from] = (model.available[one.from] ?? 0) + one.amount
    model.outside -= one.amount
    return
  }
  if (one.do === 'pay' || one.do === 'wire') {
    const { agentKey: key } = parties[one.from]
    const toParty = one.do === 'pay' && one.to === 'party'
    const kind = one.do === 'pay' ? ('payment' as const) : ('wire' as const)
    const draft = { kind, from: one.from, toParty, amount: one.amount }
    const expected = model.send(draft)
    // A stranger of their own each time: whoever claimed once is known.
    const stranger = { type: 'email', value: `stranger-${model.sent.length}-${model.now}@example.org` }
    const partner = { type: 'party_id', value: parties[one.from === 0 ? 1 : 0].partyId }
    const answer =
      one.do === 'wire'
        ? await world.post('/wire', { amount: one.amount, beneficiary }, { key })
        : await self.pay(one.amount, toParty ? partner : stranger, {}, { key })
    if (expected === 409) return expect(answer.status, answer.text).toBe(409)
    expect(ok(answer).json.data.attributes.status).toBe(expected)
    const day = Math.floor(model.now / 86_400_000)
    model.sent.unshift({ ...draft, id: created(answer), status: expected, day })
    return
  }
  const candidates = model.sent.filter(({ kind }) => kind === 'payment' || one.do === 'approve' || one.do === 'deny')
  const target = candidates[one.which % Math.max(1, candidates.length)]
  if (target === undefined) return
  const key = { key: parties[target.from].apiKey }
  const approval = await self.approvalOf(target.id, key)
  if ((one.do === 'approve' || one.do === 'deny') && approval === undefined) return
  const expected = model.act(one.do, target)
  const answer = await {
    approve: () => self.approve(approval.id, key),
    deny: () => self.deny(approval.id, {}, key),
    cancel: () => self.cancel(target.id, key),
    claim: () => self.claim(target.id, key),
  }[one.do]()
  expect(answer.status, answer.text).toBe(expected)
}

async function compare(world: World, self: Payer, parties: Parties, model: Model): Promise<void> {
  for (const index of [0, 1] as const) {
    const key = { key: parties[index].apiKey }
    const available = model.available[index] ?? 0
    expect(await self.balance(key)).toMatchObject({ available, total: available + model.held(index) })
    const listed = ok(await world.get('/payments?limit=100', key)).json.data
    const statuses = listed.map(({ id, attributes }: { id: string; attributes: { status: string } }) => [
      id,
      attributes.status,
    ])
    const own = model.sent.filter(({ from: party, kind }) => party === index && kind === 'payment')
    expect(statuses).toEqual(own.map(({ id, status }) => [id, status]))
  }
  const held = model.held(0) + model.held(1)
  expect((model.available[0] ?? 0) + (model.available[1] ?? 0) + held + model.outside).toBe(2 * funds)
  await proveBooks(world.store)
}

onEachDatabase('money', (database) => {
  test('is what an independent model says after every step of any history', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 20 }), async (steps) => {
      const world = await createWorld(database)
      try {
        const self = payer(world)
        const parties = await twoParties(world, self)
        const model = new Model(world.system.now())
        for (const one of steps) await take(world, self, parties, model, one)
        await compare(world, self, parties, model)
      } finally {
        await world.drop()
      }
    })
    await fc.assert(property, { numRuns: tries(15) })
  })

  test('is neither made nor lost when parties pay each other at once', async () => {
    const world = await createWorld(database)
    try {
      const self = payer(world)
      const [left, right] = await twoParties(world, self)
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const [payerOf, payee] = index % 2 === 0 ? [left, right] : [right, left]
          return self.pay(1, { type: 'party_id', value: payee.partyId }, {}, { key: payerOf.agentKey })
        }),
      )
      for (const answer of answers) expect(ok(answer).json.data.attributes.status).toBe('COMPLETED')
      for (const { apiKey: key } of [left, right])
        expect(await self.balance({ key })).toMatchObject({ available: funds })
      await proveBooks(world.store)
    } finally {
      await world.drop()
    }
  })
})
