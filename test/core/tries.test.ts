import { expect, test } from 'vitest'
import { limitByAddress, Tries } from '../../src/core/tries.ts'
import { fakeSystem } from '../support/fake-system.ts'

test('tries are counted by key in a window that begins with the first try; later tries do not extend the window', () => {
  const system = fakeSystem()
  const tries = new Tries(system, 60_000)
  expect([tries.count('a'), tries.count('a'), tries.count('b')]).toEqual([1, 2, 1])
  system.pass(59_999)
  expect(tries.window('a')).toMatchObject({ tries: 2, leftMs: 1 })
  expect(tries.count('a')).toBe(3)
  system.pass(1)
  expect(tries.window('a')).toMatchObject({ tries: 0, leftMs: 60_000 })
  expect(tries.count('a')).toBe(1)
  // Changing the machine's clock neither ends a window nor begins a new one.
  system.setAhead(3_600_000)
  expect(tries.count('a')).toBe(2)
})

test('if there are too many keys, the key that has gone longest without a try is forgotten', () => {
  const tries = new Tries(fakeSystem(), 60_000)
  for (let key = 0; key < 10_000; key++) tries.count(`${key}`)
  expect(tries.count('0')).toBe(2)
  tries.count('one more')
  expect(tries.window('1').tries).toBe(0)
  expect(tries.window('0').tries).toBe(2)
})

test('each address has its own limit, and calls without an address count only toward the total limit', () => {
  const system = fakeSystem()
  const allows = limitByAddress(system, { each: 2, all: 4, seconds: 60 })
  expect([allows('a'), allows('a'), allows('a'), allows('a')]).toEqual([true, true, false, false])
  expect([allows('b'), allows(undefined), allows('c'), allows(undefined)]).toEqual([true, true, false, false])
  system.pass(60_000)
  expect([allows('a'), allows(undefined)]).toEqual([true, true])
})
