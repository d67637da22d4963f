import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runIdOf } from '../../src/service/request/run-log.ts'
import type { RunReport } from '../../src/service/rules/run-report.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { ok, payer } from '../payments/payer.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty } from '../support/world.ts'
import { type Grounds, History, histories, limitCents, type RunRecords } from './histories.ts'

interface Transaction {
  id: string
  kind: 'purchase' | 'refund'
  status: string
  amount: number
  held: number
  captured: number
  refunded: number
  merchant: { name: string }
  cardId: string
}

onEachDatabase('the figures of run reports', (database) => {
  let site: PersonSite
  let grounds: Grounds
  let count = 0

  beforeAll(async () => {
    site = await createPersonSite(database)
    const { world } = site
    const key = world.apiKey
    const { agentId } = await world.whoami()
    await payer(world).setLimits('agents', String(agentId), { perTransaction: limitCents })
    const [first] = (await world.get('/wallets', { key })).json.data
    const second = ok(await world.post('/wallets', { displayName: 'Second' }, { key })).json.data
    const linked = await world.send('POST', '/simulations/external-accounts/link', { key })
    grounds = {
      world,
      payer: await addParty(world),
      walletIds: [first.id, second.id],
      accountId: ok(linked).json.data[0].id,
      customerPartyId: await world.customerPartyId(),
    }
  })
  afterAll(() => site.world.drop())

  const reportOf = async (instanceId: string) => {
    await site.world.service.runLog.flush()
    const visitor = await site.visitor(site.owner)
    const { text } = await visitor.open(`/console/runs/${runIdOf(site.owner.partyId, instanceId)}/report?format=json`)
    return (JSON.parse(text) as { report: RunReport }).report
  }

  const all = async (ids: readonly string[], path: string) =>
    Promise.all(ids.map(async (id) => ok(await site.world.get(`${path}/${id}`, { key: site.world.apiKey })).json.data))

  async function transactionsOn(cards: readonly string[]): Promise<Transaction[]> {
    const lists = await Promise.all(
      cards.map(async (cardId) => {
        const { data } = ok(await site.world.get(`/card-transactions?cardId=${cardId}&limit=100`)).json
        return data.map(({ id, attributes }: { id: string; attributes: object }) => ({ id, cardId, ...attributes }))
      }),
    )
    return lists.flat()
  }

  /**
   * Returns the wallets whose balances the records of a run changed, each with the sums of the ledger entries of these
   * records.
   */
  async function ledgerChanges({ sources }: RunRecords) {
    const entries = await site.world.store.read(({ db }) =>
      db.selectFrom('ledgerEntries').selectAll().where('partyId', '=', site.owner.partyId).execute(),
    )
    const sums = new Map<string, { availableCents: number; heldCents: number }>()
    for (const { sourceId, walletId, account, amountCents } of entries) {
      if (walletId === null || !sources.has(sourceId ?? '')) continue
      const sum = sums.get(walletId) ?? { availableCents: 0, heldCents: 0 }
      sum[account === 'held' ? 'heldCents' : 'availableCents'] += amountCents
      sums.set(walletId, sum)
    }
    return changedWallets([...sums].map(([walletId, sum]) => ({ walletId, ...sum })))
  }

  async function expectFigures(instanceId: string, made: RunRecords) {
    // Reading the records also applies due effects. The report is made afterwards, so it includes the same effects.
    const cards = await all(made.cards, '/agent-cards')
    const bought = await transactionsOn(made.cards)
    const report = await reportOf(instanceId)
    const approved = bought.filter(({ kind, status }) => kind === 'purchase' && status !== 'declined')
    const declined = bought.filter(({ status }) => status === 'declined')
    expect(report.totals).toStrictEqual({
      intendedCents: sum(cards.map(({ attributes }) => attributes.maximumAmount)),
      ...sums(approved),
    })
    // Each refund is also a separate record. The amounts of these records add up to the refunded total of the report.
    expect(sum(bought.filter(({ kind }) => kind === 'refund').map(({ amount }) => amount))).toBe(
      report.totals.refundedCents,
    )
    expect(
      report.cards.map(({ id, status, maximumCents, authorizedCents }) => [id, status, maximumCents, authorizedCents]),
    ).toStrictEqual(
      sorted(cards).map(({ id, attributes }) => [
        ...[id, attributes.status, attributes.maximumAmount],
        sum(approved.filter(({ cardId }) => cardId === id).map(({ amount }) => amount)),
      ]),
    )
    for (const {
      id,
      merchant,
      capturedCents,
      heldCents,
      refundedCents,
      actualMerchants,
      differences,
    } of report.cards) {
      const ofCard = approved.filter(({ cardId }) => cardId === id)
      expect({ capturedCents, heldCents, refundedCents }).toStrictEqual(withoutAuthorized(sums(ofCard)))
      expect(actualMerchants).toStrictEqual(ofCard.map((one) => one.merchant.name))
      expect(differences.includes('another merchant')).toBe(ofCard.some((one) => one.merchant.name !== merchant))
    }
    const byName = Map.groupBy(
      bought.filter(({ kind }) => kind === 'purchase'),
      ({ merchant }) => merchant.name,
    )
    expect(new Map(report.merchants.map(({ merchant, ...figures }) => [merchant, figures]))).toStrictEqual(
      new Map(
        [...byName].map(([merchant, purchases]) => {
          const paid = purchases.filter((one) => approved.includes(one))
          return [merchant, { purchases: paid.length, declined: purchases.length - paid.length, ...sums(paid) }]
        }),
      ),
    )
    expect(report.declines.map(({ id, amountCents }) => [id, amountCents])).toStrictEqual(
      sorted(declined).map(({ id, amount }) => [id, amount]),
    )
    const paid = [...(await all(made.payments, '/payments')), ...(await all(made.transfers, '/transfers'))]
    const requests = await all(made.requests, '/payment-requests')
    for (const [reportedRows, requestedRows] of [
      [report.payments, paid],
      [report.requests, requests],
    ] as const)
      expect(
        reportedRows.filter(({ isOwn }) => isOwn).map(({ id, status, amountCents }) => [id, status, amountCents]),
      ).toStrictEqual(sorted(requestedRows).map(({ id, attributes }) => [id, attributes.status, attributes.amount]))
    const subscriptions = await all(made.subscriptions, '/subscriptions')
    expect(report.subscriptions.map(({ id, status }) => [id, status])).toStrictEqual(
      sorted(subscriptions).map(({ id, attributes }) => [id, attributes.status]),
    )
    expect(report.customers).toStrictEqual(
      made.customerCards.length === 0
        ? []
        : [expect.objectContaining({ partyId: grounds.customerPartyId, cards: made.customerCards.length })],
    )
    const approvals = ok(await site.world.get('/approvals?limit=100', { key: site.world.apiKey })).json.data
    const ours = approvals.filter((one: { attributes: { target: { id: string } } }) =>
      report.payments.some(({ id }) => id === one.attributes.target.id),
    )
    expect(report.approvals.map(({ id, status }) => [id, status])).toStrictEqual(
      sorted(ours as { id: string; attributes: { status: string } }[]).map(({ id, attributes }) => [
        id,
        attributes.status,
      ]),
    )
    expect(changedWallets(report.wallets)).toStrictEqual(await ledgerChanges(made))
    expect(report.calls).toBe(made.calls)
    expect(report.evaluated).toMatchObject({ calls: made.calls, complete: true })
    expect(sum(report.repeats.map((one) => one.count))).toBe(made.replays)
    expect(sum(report.refusals.map((one) => one.count))).toBe(made.refusalCodes.length)
    expect(report.postings).toMatchObject({ sumCents: 0, unbalanced: 0 })
    return report
  }

  test("the figures match the API's records and the ledger; deleting the run entries changes only the figures that come from these entries", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (actions) => {
        count++
        const names = [`run ${count} a`, `run ${count} b`] as const
        const history = new History(grounds, names)
        for (const action of actions) await history.perform(action)
        for (const [at, made] of history.runs.entries()) {
          if (made.calls === 0) continue
          const report = await expectFigures(names[at as 0 | 1], made)
          await site.world.store.transaction(async ({ db }) => {
            await db.deleteFrom('runEntries').where('runId', '=', report.runId).execute()
          })
          const none = { questions: [], repeats: [], faults: [], refusals: [] }
          expect(await reportOf(names[at as 0 | 1])).toStrictEqual({
            ...{ ...report, ...none },
            evaluated: { ...report.evaluated, entries: 0, calls: 0 },
            postings: { count: 0, sumCents: 0, unbalanced: 0 },
          })
        }
      }),
      { numRuns: isDeep ? 40 : database === sqlite ? 4 : 1, endOnFailure: true },
    )
  }, 120_000)
})

const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

const sums = (bought: readonly Transaction[]) => ({
  authorizedCents: sum(bought.map(({ amount }) => amount)),
  heldCents: sum(bought.map(({ held }) => held)),
  capturedCents: sum(bought.map(({ captured }) => captured)),
  refundedCents: sum(bought.map(({ refunded }) => refunded)),
})

const withoutAuthorized = ({ capturedCents, heldCents, refundedCents }: ReturnType<typeof sums>) => {
  return { capturedCents, heldCents, refundedCents }
}

const sorted = <One extends { id: string }>(records: readonly One[]) =>
  records.toSorted((one, other) => (one.id < other.id ? -1 : 1))

interface BalanceChange {
  walletId: string
  availableCents: number
  heldCents: number
}

/** Returns the wallets whose balances changed, sorted by id. */
const changedWallets = (wallets: readonly BalanceChange[]) =>
  wallets
    .filter(({ availableCents, heldCents }) => availableCents !== 0 || heldCents !== 0)
    .toSorted((one, other) => (one.walletId < other.walletId ? -1 : 1))
