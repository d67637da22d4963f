import { join } from 'node:path'
import { newId, realSystem } from '../src/core/system.ts'
import { freezeTerms } from '../src/service/rules/subscription-terms.ts'
import { type Billing, nextEventAtMs, payInCheckout, startBilling } from '../src/service/rules/subscriptions.ts'
import { insertSubscription, type SubscriptionRecord } from '../src/service/store/subscriptions.ts'
import { defaultWallet } from '../src/service/store/wallets.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'
import { judged, median, type Row, summary } from './table.ts'

const activeCount = 10_000
const idleCount = 10_000
const days = 365
const rounds = 5
/** Monthly, for a year: each active subscription is charged as often. */
const paymentsInYear = 12
const dayMs = 24 * 60 * 60 * 1000

/**
 * Simulated subscription-days per second of one call that advances the clock by a year, and what subscriptions that
 * nothing happens to add to its time. Each round's samples are taken one right after the other, each on a file of its own.
 */
export async function measureSubscriptions(directory: string): Promise<Row[]> {
  const samples = { base: [] as number[], withIdle: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const seconds = async (idle: number) =>
      secondsOfYear(join(directory, `subscriptions ${round} ${idle}.sqlite`), idle, round)
    // What is measured first changes from round to round.
    if (round % 2 === 1) samples.withIdle.push(await seconds(2 * idleCount))
    samples.base.push(await seconds(idleCount))
    if (round % 2 === 0) samples.withIdle.push(await seconds(2 * idleCount))
  }
  const perSecond = (all: readonly number[]) => all.map((seconds) => (activeCount * days) / seconds)
  const added = median(samples.withIdle.map((seconds, round) => seconds / (samples.base[round] ?? Number.NaN)))
  return [
    {
      measurement: `subscription-days, ${activeCount} active advanced a year, payments beside them`,
      ours: summary(perSecond(samples.base), '/s'),
      other: summary(
        samples.base.map((seconds) => (activeCount * paymentsInYear) / seconds),
        '/s',
      ),
      ratio: '',
      goal: '',
      reached: '',
    },
    {
      measurement: `the same year with ${2 * idleCount} idle subscriptions, against ${idleCount}`,
      ours: summary(milliseconds(samples.withIdle), 'ms'),
      other: summary(milliseconds(samples.base), 'ms'),
      ratio: added.toFixed(2),
      ...judged(added, { atMost: 1.1 }),
    },
  ]
}

const milliseconds = (seconds: readonly number[]) => seconds.map((one) => one * 1000)

async function secondsOfYear(path: string, idle: number, round: number): Promise<number> {
  const progress = progressLine(`subscriptions, round ${round + 1} of ${rounds}`)
  const sandbox = await openSandbox(`sqlite:${path}`)
  try {
    progress(`creating ${activeCount + idle}`)
    await createSubscriptions(sandbox, idle)
    progress(`advancing ${activeCount} active beside ${idle} idle by a year`)
    const startedAt = performance.now()
    const response = await sandbox.service.fetch(
      sandbox.request('POST', '/simulations/clock/advance', { seconds: days * 86_400 }),
    )
    const text = await response.text()
    const seconds = (performance.now() - startedAt) / 1000
    if (!response.ok) throw new Error(text)
    await proveYear(sandbox)
    return seconds
  } finally {
    progress('')
    await sandbox.close()
  }
}

/** Straight into the store: it is the year that is measured. */
async function createSubscriptions({ store }: Sandbox, idle: number): Promise<void> {
  const nowMs = Date.now()
  await store.transaction(async (tx) => {
    const party = await tx.db
      .selectFrom('parties')
      .select('id')
      .where('partyType', '=', 'ORG')
      .executeTakeFirstOrThrow()
    const wallet = await defaultWallet(tx, party.id)
    if (wallet === undefined) throw new Error('The sandbox is not seeded.')
    const every = { unit: 'month', count: 1 } as const
    const terms = freezeTerms({ description: 'Bench', every, amount: 1000, taxAmount: 100 })
    const pending = startBilling(nowMs, null)
    // Not on the first day of the year, so that as many payments fall due whatever day the bench runs on.
    const active = payInCheckout(terms, pending, 'approves', nowMs - dayMs).billing
    const states: Billing[] = [pending, { ...active, status: 'canceled', nextAttemptAtMs: null }]
    states.push({ ...active, status: 'completed', nextAttemptAtMs: null })
    for (let index = 0; index < activeCount + idle; index++) {
      // Active and idle ones lie among each other, as they would.
      const billing = index % (1 + idle / activeCount) < 1 ? active : states[index % states.length]
      if (billing === undefined) throw new Error('Bug: there is no such state.')
      const record: SubscriptionRecord = {
        id: newId('sub', realSystem, nowMs),
        partyId: party.id,
        walletId: wallet.id,
        paymentIntentId: newId('pmi', realSystem, nowMs),
        mandateId: billing === pending ? null : newId('mdt', realSystem, nowMs),
        agentId: null,
        instanceId: null,
        status: billing.status,
        terms,
        billing,
        currency: 'USD',
        nextEventAtMs: nextEventAtMs(terms, billing),
        version: 1,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      }
      await insertSubscription(tx, record)
    }
  })
}

/** A bench of what did not happen would look fast. */
async function proveYear({ store }: Sandbox): Promise<void> {
  const paid = await store.transaction(({ db }) =>
    db
      .selectFrom('subscriptionPayments')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow(),
  )
  const expected = activeCount * paymentsInYear
  if (Number(paid.count) !== expected) throw new Error(`${paid.count} payments were charged, not ${expected}.`)
}

/** One line that is written over, where a person watches. */
function progressLine(name: string): (what: string) => void {
  return (what) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${what === '' ? '' : `${name}: ${what} …`}`)
  }
}
