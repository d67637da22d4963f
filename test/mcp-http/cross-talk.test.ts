import { expect, test } from 'vitest'
import { crossTalk } from './cross-talk.ts'
import { createHosting } from './hosting.ts'

test('64 hosts with the same ids: nobody gets what is for another', async () => {
  const hosting = await createHosting()
  const { wrong, answered, cancelled, progress } = await crossTalk((request) => fetch(request), hosting.url, 64, 32)
  expect(wrong).toEqual([])
  expect(answered + cancelled).toBe(64 * 32)
  expect(cancelled).toBeGreaterThan(300)
  expect(progress).toBeGreaterThan(600)
  await hosting.close()
})
