import { expect } from 'vitest'
import type { World } from '../support/world.ts'
import { type List, moneyLists } from './lists.ts'
import { keyOf } from './run.ts'
import type { Party, State } from './state.ts'

/** Compares a list of the service's, as one page, with the model's. */
export async function compareList(world: World, self: Party, list: List): Promise<void> {
  const { data, meta } = await read(world, self, list, { limit: '100' })
  expect(data.map(list.show), nameOf(list)).toEqual(list.expected)
  expect(meta.pagination, nameOf(list)).toEqual({ hasMore: false, nextCursor: null })
}

/** Does the same in pages of these sizes. */
export async function compareWalked(world: World, self: Party, list: List, pageSizes: number[]): Promise<void> {
  const walked: unknown[] = []
  let cursor: string | null = null
  for (let page = 0; page === 0 || cursor !== null; page++) {
    const limit = pageSizes[page % pageSizes.length] ?? 1
    const { data, meta } = await read(world, self, list, { limit: `${limit}`, ...(cursor === null ? {} : { cursor }) })
    const rest = list.expected.length - walked.length
    expect(data.length, `${nameOf(list)}, page ${page}`).toBe(Math.min(limit, rest))
    walked.push(...data.map(list.show))
    cursor = meta.pagination.nextCursor
    const more = rest > limit
    expect([meta.pagination.hasMore, cursor !== null], `${nameOf(list)}, page ${page}`).toEqual([more, more])
  }
  expect(walked, `${nameOf(list)}, walked`).toEqual(list.expected)
}

/** Compares what money both parties have and moved, and proves that none was made or lost on the way. */
export async function compareMoney(world: World, state: State): Promise<void> {
  for (const self of state.parties) {
    for (const list of moneyLists(self, state)) {
      if (list.by === 'party' && list.query === undefined) await compareList(world, self, list)
    }
  }
  expect(endowment(state)).toBe(state.parties[0].fundsCents + state.parties[1].fundsCents)
}

/** Returns what the parties must have begun with, by what they have and by what left them or came from outside. */
function endowment({ parties }: State): number {
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
  const outside = ({ purchases, moves }: Party) => [
    ...purchases.transactions.map(({ status, captured, refunded }) =>
      status === 'refunded' ? 0 : captured - refunded,
    ),
    ...moves
      .filter((one) => !one.isPartner)
      .map(({ direction, amount }) => (direction === 'OUTBOUND' ? amount : -amount)),
  ]
  return sum(parties.flatMap((self) => [self.purchases.balance.total, ...outside(self)]))
}

async function read(world: World, self: Party, list: List, page: Record<string, string>) {
  const query = new URLSearchParams({ ...list.query, ...page })
  const answer = await world.get(`${list.path}?${query}`, { key: keyOf(self, list.by) })
  expect(answer.status, `${nameOf(list)}: ${answer.text}`).toBe(200)
  return answer.json
}

const nameOf = ({ path, query = {}, by }: List) => `${path} ${JSON.stringify(query)} by the ${by}`
