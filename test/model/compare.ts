import { expect } from 'vitest'
import type { World } from '../support/world.ts'
import { customerLists, type List, moneyLists } from './lists.ts'
import { keyOf } from './run.ts'
import { type Party, type State, withCustomers } from './state.ts'

/** Reads a list of the service as one page, and compares it with the model's list. */
export async function compareList(world: World, self: Party, list: List): Promise<void> {
  const { data, meta } = await read(world, self, list, { limit: '100' })
  expectRows(data.map(list.show), list, nameOf(list))
  expect(meta.pagination, nameOf(list)).toEqual({ hasMore: false, nextCursor: null })
}

/** Reads a list of the service page by page, using the page sizes in turn, and compares it with the model's list. */
export async function compareByPage(world: World, self: Party, list: List, pageSizes: number[]): Promise<void> {
  const rows: unknown[] = []
  let cursor: string | null = null
  for (let page = 0; page === 0 || cursor !== null; page++) {
    const limit = pageSizes[page % pageSizes.length] ?? 1
    const { data, meta } = await read(world, self, list, { limit: `${limit}`, ...(cursor === null ? {} : { cursor }) })
    const rest = list.expected.length - rows.length
    expect(data.length, `${nameOf(list)}, page ${page}`).toBe(Math.min(limit, rest))
    rows.push(...data.map(list.show))
    cursor = meta.pagination.nextCursor
    const more = rest > limit
    expect([meta.pagination.hasMore, cursor !== null], `${nameOf(list)}, page ${page}`).toEqual([more, more])
  }
  expectRows(rows, list, `${nameOf(list)}, all pages`)
}

function expectRows(rows: unknown[], { expected, isTieOrderFree = false }: List, message: string): void {
  const shown = (all: unknown[]) => (isTieOrderFree ? sortTies(all) : all)
  expect(shown(rows), message).toEqual(shown(expected))
}

/** Sorts each group of neighboring rows that have the same time. The order of the groups stays the same. */
function sortTies(rows: unknown[]): unknown[] {
  const all = rows as { at: string }[]
  const groups: { at: string }[][] = []
  for (const row of all) {
    if (groups.at(-1)?.[0]?.at === row.at) groups.at(-1)?.push(row)
    else groups.push([row])
  }
  const json = (row: unknown) => JSON.stringify(row)
  return groups.flatMap((group) => group.toSorted((one, other) => (json(one) < json(other) ? -1 : 1)))
}

/**
 * Compares the service's money lists with the model's lists, for both parties and for all customers whose records the
 * parties' agents may read. Also checks that no money was created or lost.
 */
export async function compareMoney(world: World, state: State): Promise<void> {
  for (const self of state.parties) {
    for (const list of moneyLists(self, state)) {
      if (list.by === 'party' && list.query === undefined) await compareList(world, self, list)
    }
    for (const list of customerLists(self, state)) await compareList(world, self, list)
  }
  expect(initialFunds(state)).toBe(state.parties[0].fundsCents + state.parties[1].fundsCents)
}

/**
 * Computes how much money all parties had initially: their balances, plus the money that has since left the model,
 * minus the money that has entered it.
 */
function initialFunds({ parties }: State): number {
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
  const outside = ({ purchases, moves }: Party) => [
    ...purchases.transactions.map(({ status, captured, refunded }) =>
      status === 'refunded' ? 0 : captured - refunded,
    ),
    ...moves
      .filter(({ counterparty, status }) => counterparty === undefined && status === 'COMPLETED')
      .map(({ direction, amount }) => (direction === 'OUTBOUND' ? amount : -amount)),
  ]
  return sum(parties.flatMap(withCustomers).flatMap((self) => [self.purchases.balance.total, ...outside(self)]))
}

async function read(world: World, self: Party, list: List, page: Record<string, string>) {
  const query = new URLSearchParams({ ...list.query, ...page })
  const answer = await world.get(`${list.path}?${query}`, { key: keyOf(self, list.by) })
  expect(answer.status, `${nameOf(list)}: ${answer.text}`).toBe(200)
  return answer.json
}

const nameOf = ({ path, query = {}, by }: List) => `${path} ${JSON.stringify(query)} by the ${by}`
