import { describe, expect, test } from 'vitest'
import { createLastUses } from '../../src/service/request/last-use.ts'
import type { Store } from '../../src/service/store/engine/store.ts'

const credential = { keyId: 'agk_1', agentId: null, partyId: 'pty_1' }
const at = (nowMs: number, epoch = 1) => ({ nowMs, epoch })

describe('the last uses of keys', () => {
  test('the last use of a key is written at most once a minute, and a failed write is repeated', async () => {
    const uses = createLastUses()
    const store = createCountingStore()
    uses.note(credential, at(1_000))
    store.fails = true
    await expect(uses.write(store)).rejects.toThrow('busy')
    store.fails = false
    await uses.write(store)
    await uses.write(store)
    expect(store.count).toBe(2)
    uses.note(credential, at(31_000))
    store.nowMs = 60_999
    await uses.write(store)
    expect(store.count).toBe(2)
    store.nowMs = 61_000
    await uses.write(store)
    expect(store.count).toBe(3)
  })

  test('the last use is the later of the time in memory and the time that another process wrote', () => {
    const uses = createLastUses()
    expect(uses.forKey('agk_1', null)).toBeNull()
    expect(uses.forKey('agk_1', 5)).toBe(5)
    uses.note(credential, at(10))
    expect(uses.forKey('agk_1', 5)).toBe(10)
    expect(uses.forKey('agk_1', 20)).toBe(20)
  })

  test('a new epoch clears all uses from earlier epochs, and they are no longer written', async () => {
    const uses = createLastUses()
    const store = createCountingStore()
    uses.note({ ...credential, agentId: 'agt_1' }, at(10))
    uses.note({ ...credential, keyId: 'agk_2' }, at(5, 2))
    uses.note(credential, at(11))
    expect([uses.forKey('agk_1', null), uses.forAgent('agt_1', null), uses.forKey('agk_2', null)]).toEqual([
      null,
      null,
      5,
    ])
    store.epoch = 3
    await uses.write(store)
    expect([uses.forKey('agk_2', null), store.count]).toEqual([null, 0])
  })

  test('uses are remembered for the 10,000 most recently used keys, and written 64 at a time', async () => {
    const uses = createLastUses()
    for (let count = 0; count <= 10_000; count++) uses.note({ ...credential, keyId: `agk_${count}` }, at(count))
    expect(uses.forKey('agk_0', null)).toBeNull()
    expect(uses.forKey('agk_1', null)).toBe(1)
    const store = createCountingStore()
    await uses.write(store)
    expect(store.count).toBe(64)
  })
})

/** Returns a fake store that counts transactions and can make them fail. */
function createCountingStore() {
  const counter = {
    count: 0,
    fails: false,
    nowMs: 1_000,
    epoch: 1,
    read: async () => ({ nowMs: counter.nowMs, epoch: counter.epoch }),
    transaction: async () => {
      counter.count += 1
      if (counter.fails) throw new Error('busy')
    },
  }
  return counter as unknown as Store & typeof counter
}
