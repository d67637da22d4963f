import { expect, test } from 'vitest'
import { catalogue } from '../../tools/index.ts'
import { card, json, scriptedClient } from './scripted.ts'

const page = (nextCursor: unknown) =>
  json(200, { data: [card], meta: { pagination: { hasMore: nextCursor !== null, nextCursor } } })

async function readAllPages(steps: Parameters<typeof scriptedClient>[0]) {
  const { client, seen } = scriptedClient(steps)
  let pages = 0
  for await (const result of client.pages(catalogue.listAgentCards, { limit: 1 })) pages += result.data.length
  expect(seen.every(({ url }) => url.includes('limit=1'))).toBe(true)
  return { pages, cursors: seen.map(({ url }) => new URL(url).searchParams.get('cursor')) }
}

test('`pages` follows nextCursor until a page has none', async () => {
  expect(await readAllPages([page('cur_a'), page('cur_b'), page(null)])).toEqual({
    pages: 3,
    cursors: [null, 'cur_a', 'cur_b'],
  })
})

test.each([[''], [null], [undefined], [7]])('`pages` ends after a page with the nextCursor %j', async (cursor) => {
  expect((await readAllPages([page(cursor)])).cursors).toEqual([null])
})

test('`pages` ends when a cursor repeats', async () => {
  expect((await readAllPages([page('cur_a'), page('cur_b'), page('cur_a')])).cursors).toEqual([null, 'cur_a', 'cur_b'])
})

test('`pages` ends after 1000 pages', async () => {
  let number = 0
  const { client } = scriptedClient([() => page(`cur_${number++}`)()])
  let pages = 0
  for await (const _ of client.pages(catalogue.listAgentCards, {})) pages++
  expect(pages).toBe(1000)
})
