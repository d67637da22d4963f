import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FairReads } from '../../src/service/request/fair-reads.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { type Served, serveWorld } from '../oauth/served.ts'
import { ok } from '../payments/payer.ts'
import { databases } from '../support/databases.ts'
import { addKey } from '../support/world.ts'

/**
 * The number of calls in a burst. It is so large that no database can answer the whole burst before the test sends the
 * single call that follows it.
 */
const burst = 200

describe.each(databases)('reads of long polls on $name', (database) => {
  let served: Served
  let other: string
  let path: string
  beforeAll(async () => {
    served = await serveWorld({ database })
    const { world } = served
    const { partyId } = await world.whoami()
    other = await addKey(world, { partyId, agentId: null, scopes: ['cards.read'] })
    const cardId = await world.issueCard()
    ok(await world.authorize(cardId, 10))
    path = `/agent-cards/${cardId}`
    // Opens all database connections in advance, so that no call of a burst has to wait until a connection is open.
    await Promise.all(Array.from({ length: burst + 1 }, () => get('', other)))
  })
  afterAll(() => served.close())

  async function get(query: string, key: string): Promise<void> {
    const response = await fetch(`${served.url}${path}${query}`, { headers: { Authorization: `Bearer ${key}` } })
    expect([response.status, await response.json()]).toMatchObject([200, { data: { attributes: { status: 'used' } } }])
  }

  /**
   * Sends a burst of calls with one credential, and then a single call with a different credential. Returns how many
   * calls of the burst were answered before the single call.
   */
  async function answeredBefore(query: string): Promise<number> {
    let answered = 0
    // The card is already used, so no call waits for a change. Only the reads take time.
    const sent = Array.from({ length: burst }, async () => {
      await get('?waitSeconds=50', served.world.agentKey)
      answered += 1
    })
    await get(query, other)
    const before = answered
    await Promise.all(sent)
    expect(answered).toBe(burst)
    return before
  }

  test.each([
    { call: 'an ordinary call', query: '' },
    { call: 'a long poll', query: '?waitSeconds=50' },
  ])('$call with another credential overtakes most of a burst of long polls', async ({ query }) => {
    expect(await answeredBefore(query)).toBeLessThan(burst / 4)
  })
})

test('reads of different credentials take turns, and at most two run at once', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const read = (async (work) => {
    begun.push(String(await work(undefined as never)))
    await new Promise<void>((end) => ends.push(end))
  }) as Store['read']
  const reads = new FairReads()
  const startReads = (credential: string, count: number) =>
    Array.from({ length: count }, () => reads.storeFor({ read } as Store, credential).read(async () => credential))
  const all = [...startReads('a', 4), ...startReads('b', 2), ...startReads('c', 1)]
  for (const _ of all) {
    await expect.poll(() => ends.length).toBeGreaterThan(0)
    expect(ends.length).toBeLessThanOrEqual(2)
    ends.shift()?.()
  }
  await Promise.all(all)
  expect(begun.join('')).toBe('aaabcab')
})
