import { describe, expect, test } from 'vitest'
import { createLastUses } from '../../src/service/request/last-use.ts'
import type { Transaction } from '../../src/service/store/engine/store.ts'

describe('the last uses of keys', () => {
  test('are taken on by one request, and by another when that one failed', () => {
    const uses = createLastUses()
    uses.note('agk_1', 'agt_1', 1_000)
    const flush = uses.take(1_000)
    expect(flush).toBeDefined()
    expect(uses.take(1_000)).toBeUndefined()
    flush?.settle(false)
    const second = uses.take(1_000)
    second?.settle(true)
    expect(uses.take(1_000)).toBeUndefined()
    uses.note('agk_1', 'agt_1', 60_999)
    expect(uses.take(60_999)).toBeUndefined()
    expect(uses.take(61_000)).toBeDefined()
  })

  test('show what is later: what is in memory, or what another process wrote', () => {
    const uses = createLastUses()
    expect(uses.of('apy_1', null)).toBeNull()
    expect(uses.of('apy_1', 5)).toBe(5)
    uses.note('apy_1', null, 10)
    expect(uses.of('apy_1', 5)).toBe(10)
    expect(uses.of('apy_1', 20)).toBe(20)
  })

  test('are kept of 10,000 keys, those used the longest ago forgotten first, and written 16 at a time', async () => {
    const uses = createLastUses()
    for (let count = 0; count <= 10_000; count++) uses.note(`agk_${count}`, null, count)
    expect(uses.of('agk_0', null)).toBeNull()
    expect(uses.of('agk_1', null)).toBe(1)
    let written = 0
    const flush = uses.take(20_000)
    await flush?.write(counting(() => written++))
    expect(written).toBe(16)
  })
})

/** A transaction whose writes are only counted. */
function counting(write: () => void): Transaction {
  const adapter = {}
  const query: object = new Proxy(() => query, {
    get: (_, name) => (name === 'compile' ? () => ({ parameters: [] }) : query),
    apply: () => query,
  })
  const db = {
    getExecutor: () => ({ adapter }),
    updateTable: () => query,
    executeQuery: async () => void write(),
  }
  return { db } as unknown as Transaction
}
