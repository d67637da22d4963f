import { expect, test } from 'vitest'
import { isDeep } from '../support/depth.ts'
import { crossTalk } from './cross-talk.ts'
import { createHosting } from './hosting.ts'

const [hosts, calls] = [isDeep ? 64 : 32, 32]

test(`with ${hosts} hosts that use the same ids, each host gets only its own messages`, async () => {
  const hosting = await createHosting()
  const { wrong, answered, cancelled, progress } = await crossTalk(
    (request) => fetch(request),
    hosting.url,
    hosts,
    calls,
  )
  expect(wrong).toEqual([])
  expect(answered + cancelled).toBe(hosts * calls)
  expect(cancelled).toBeGreaterThan(hosts * 4)
  expect(progress).toBeGreaterThan(hosts * 9)
  await hosting.close()
})
