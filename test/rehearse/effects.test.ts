import { expect, it, test } from 'vitest'
import { descriptions, effectsBetween } from '../../src/rehearse/effects/compare.ts'
import {
  bookkeeping,
  judgedTables,
  type Row,
  rowKey,
  type Snapshot,
  type TableName,
} from '../../src/rehearse/effects/tables.ts'
import type { Table } from '../../src/service/store/schema/table.ts'
import { tables } from '../../src/service/store/schema/tables.ts'
import { rehearseWork, scenarioWith } from './trials.ts'

test('every table has either a description for its effects or a reason why it is not judged', () => {
  const tableNames = Object.keys(tables) as TableName[]
  expect(tableNames.filter((name) => !(name in descriptions) && bookkeeping[name] === undefined)).toEqual([])
  expect(tableNames.filter((name) => name in descriptions && bookkeeping[name] !== undefined)).toEqual([])
  expect(judgedTables.toSorted()).toEqual(tableNames.filter((name) => bookkeeping[name] === undefined).toSorted())
})

test('no two rows of a compared table have the same key, unless they have the same primary key', () => {
  for (const name of judgedTables) {
    const { $key: columns = ['id'] }: Table = tables[name]
    const row = Object.fromEntries(columns.map((column) => [column, 'a']))
    const keys = new Set([row, ...columns.map((column) => ({ ...row, [column]: 'b' }))].map((one) => rowKey(name, one)))
    expect([name, keys.size]).toEqual([name, columns.length + 1])
  }
})

const names = { party: (id: string) => id, payee: (id: string) => id, shop: (id: string) => id }
const cause = { by: 'agent', step: 3 } as const
const snapshot = (name: string, ...rows: Row[]): Snapshot =>
  new Map([[name as TableName, new Map(rows.map((row) => [String(row.id), row]))]])

it('a change of a table without a description is still reported as an effect', () => {
  const [none, created, changed] = [
    snapshot('loans'),
    snapshot('loans', { id: 'a', cents: 1, version: 1 }),
    snapshot('loans', { id: 'a', cents: 2, version: 2 }),
  ]
  const effectsOf = (before: Snapshot, after: Snapshot) =>
    effectsBetween(before, after, names, cause).map(({ what, change, weight, says }) => [what, change, weight, says])
  expect(effectsOf(none, created)).toEqual([['other', 'added', 'given', 'a row of the table loans']])
  expect(effectsOf(created, changed)).toEqual([
    ['other', 'changed', 'given', 'a row of the table loans: cents changed'],
  ])
  expect(effectsOf(changed, none)).toEqual([['other', 'removed', 'undone', 'a row of the table loans: removed']])
  expect(effectsOf(created, snapshot('loans', { id: 'a', cents: 1, version: 2 }))).toEqual([])
})

it.each([
  ['payment', { claimant: 'ann@people.example' }, 'the payment of $5.00 to ann@people.example: canceled'],
  ['wire', { beneficiary: '{"name":"Ann"}' }, 'the wire of $5.00 to Ann: canceled'],
  ['withdrawal', {}, 'the transfer of $5.00: canceled'],
])('a canceled %s is described with its kind, its amount, and its recipient if it has one', (kind, fields, says) => {
  const payment = (status: string) =>
    snapshot('payments', {
      id: 'a',
      kind,
      amountCents: 500,
      recipientPartyId: null,
      claimant: null,
      beneficiary: null,
      ...fields,
      status,
    })
  const effects = effectsBetween(payment('PROCESSING'), payment('CANCELED'), names, cause)
  expect(effects).toMatchObject([{ says, did: `canceled ${says.replace(': canceled', '')}` }])
})

it('creating a card and freezing it are two effects, each with the agent and the step that caused it', async () => {
  const { effects } = await rehearseWork(scenarioWith({}), async ({ call }) => {
    const { data } = await call('issue_agent_card', {
      merchant: { name: 'Elsewhere' },
      maximumAmount: 900,
      currency: 'USD',
    })
    await call('freeze_agent_card', { cardId: data.id })
    return 'Done.'
  })
  expect(effects.map(({ what, change, by, step, weight, says }) => [what, change, by, step, weight, says])).toEqual([
    ['card', 'added', 'agent', 1, 'given', 'a card of up to $9.00 for Elsewhere'],
    ['card', 'changed', 'agent', 2, 'undone', 'a card of up to $9.00 for Elsewhere: frozen'],
  ])
  expect(effects.map(({ did }) => did)).toEqual([
    'created a card of up to $9.00 for Elsewhere',
    'froze a card of up to $9.00 for Elsewhere',
  ])
})

it('due effects are attributed to time, even if an agent advances the clock; decisions are attributed to the person', async () => {
  const held = { agent: 'shopper', merchant: 'Elsewhere', maximumAmount: 500, issuedAt: '-6d' }
  const { world } = scenarioWith({})
  const [us, ...others] = world.parties
  const parties = [
    { ...us, cards: { old: { ...held, purchases: [{ amount: 500, at: '-6d', status: 'authorized' }] } } },
    ...others,
  ]
  const scenario = scenarioWith({ world: { ...world, parties } as never })
  const { effects } = await rehearseWork(scenario, async ({ call }) => {
    await call('create_payment', { counterparty: { type: 'handle', value: '@bakery' }, amount: 70_000 })
    await call('advance_sandbox_clock', { seconds: 3 * 24 * 60 * 60 })
    return 'Done.'
  })
  expect(effects.map(({ did }) => did).slice(2)).toEqual([undefined, undefined, undefined])
  expect(effects[0]?.did).toBe('asked for approval to pay $700.00 to bakery')
  expect(effects.map(({ what, by, says }) => [what, by, says])).toEqual([
    ['payment', 'agent', '$700.00 to bakery, pending approval'],
    ['approval', 'agent', 'approval of $700.00 to bakery'],
    ['payment', 'person', '$700.00 paid to bakery'],
    ['approval', 'person', 'approval of $700.00 to bakery: approved'],
    ['release', 'time', '$5.00 released by Elsewhere'],
  ])
})
