import { expect, test } from 'vitest'
import { keepNewest } from '../../src/core/bounded-map.ts'

test('a full map drops its oldest entry, and setting an entry again makes it the newest', () => {
  const map = new Map<string, number>()
  expect([keepNewest(map, 'a', 1, 2), keepNewest(map, 'b', 2, 2), keepNewest(map, 'a', 3, 2)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(keepNewest(map, 'c', 4, 2)).toBe('b')
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
})
