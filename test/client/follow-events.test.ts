import { expect, test } from 'vitest'
import { followEvents } from '../../src/client/follow-events.ts'
import { json, scriptedClient } from './scripted.ts'

const idOf = (number: number) => `evt_${String(number).padStart(32, '0')}`

/** Fakes a service with the events 1 to `last`. Like the sandbox, lists the newest events first, in pages of 100. */
function service(last: number) {
  const steps: string[] = []
  const list = { last }
  const { client, system } = scriptedClient([
    (request) => {
      const cursor = new URL(request.url).searchParams.get('cursor')
      steps.push(`read ${cursor}`)
      const newest = cursor === null ? list.last : Number(cursor) - 1
      const oldest = Math.max(1, newest - 99)
      const numbers = Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index)
      const nextCursor = oldest > 1 ? String(oldest) : null
      return json(200, { data: numbers.map(event), meta: { pagination: { hasMore: oldest > 1, nextCursor } } })()
    },
  ])
  const follow = () =>
    followEvents({
      client,
      system,
      since: 'oldest',
      signal: new AbortController().signal,
      onTrouble: (error) => {
        throw error
      },
    })
  return { list, steps, follow }
}

function event(number: number) {
  const attributes = {
    eventType: 'payment.created',
    resourceId: null,
    resourceType: null,
    payload: { object: null },
    createdAt: '2026-01-01T00:00:00.000Z',
  }
  const relationships = { party: { data: { type: 'party', id: `pty_${'0'.repeat(32)}` } } }
  return { type: 'event', id: idOf(number), attributes, relationships }
}

test('a long backlog is read page by page while more events arrive, and each event is yielded once', async () => {
  const { list, steps, follow } = service(350)
  const followedIds: string[] = []
  for await (const { id } of follow()) {
    followedIds.push(id)
    steps.push('yielded')
    if (list.last < 400) list.last += 1
    if (followedIds.length === 400) break
  }
  expect(followedIds).toEqual(Array.from({ length: 400 }, (_, index) => idOf(index + 1)))
  // The client reads from the newest page to the oldest, and then back, so it requests the middle pages twice.
  const pages = steps.filter((step, at) => step !== 'yielded' || steps[at - 1] !== 'yielded')
  expect(pages.slice(0, 9)).toEqual([
    ...['read null', 'read 251', 'read 151', 'read 51', 'yielded'],
    ...['read 151', 'yielded', 'read 251', 'yielded'],
  ])
})

test('following a backlog of more than a thousand pages fails', async () => {
  await expect(service(100_001).follow().next()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('More than 100000 events'),
  })
})
