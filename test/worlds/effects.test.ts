import { expect, test } from 'vitest'
import { History } from '../../src/service/fill/history.ts'
import { createSandbox } from '../../src/testing/sandbox.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'

const weekly = (paidAt: string) =>
  `      - { description: Gym, every: { unit: week, count: 1 }, amount: 2000, taxAmount: 150, paidAt: ${paidAt} }\n`
const gym = 'clock: 2026-03-02T09:00:00Z\nparties:\n  gym:\n    subscriptions:\n'

onEachDatabase('limits of a world file', (database) => {
  const refusal = async (world: string) => {
    const { url, drop } = await database.createEmpty()
    const opening = createSandbox({ world, database: url, port: false })
    const result = await opening.then(
      async (sandbox) => {
        await sandbox.close()
        return 'opened'
      },
      (error: Error) => error.message,
    )
    // Another world can be opened only if nothing of the refused world was stored.
    const next = await createSandbox({ database: url, port: false })
    await next.close()
    await drop()
    return result
  }

  // Outside the deep run, only the first test of this block runs on PostgreSQL, so the shorter test comes first.
  test('a world with more than 100 passwords is refused at the 101st, and the error shows no password', async () => {
    const users = Array.from(
      { length: 101 },
      (_, at) => `      - { email: u${at}@b.example, password: a-password-${at} }\n`,
    )
    const message = await refusal(`parties:\n  acme:\n    users:\n${users.join('')}`)
    expect(message).toMatch(
      /^world:104:\d+ parties\.acme\.users\[100\]\.password got a value of 14 characters \(not shown\)/,
    )
    expect(message).not.toContain('a-password')
  })

  test('the refusal of a world with more than 100,000 effects gives the position in the file', async () => {
    const message = await refusal(gym + weekly('1971-01-01').repeat(isDeep ? 1200 : 40))
    // Each subscription is billed 2,879 times before the world begins, so the 35th subscription exceeds the limit.
    expect(message).toMatch(
      /^world:39:9 parties\.gym\.subscriptions\[34\] exceeds the limit of 100000 effects before the world begins;/,
    )
    expect(message).not.toContain('\n')
  })
})

test('a history accepts 100,000 effects and refuses one more', () => {
  const event = { atMs: 0, path: ['parties', 0], postings: [], apply: async () => {} }
  const history = new History()
  for (let count = 0; count < 100_000; count++) history.add(event)
  expect(() => history.add(event)).toThrow('parties.0 exceeds the limit of 100000 effects')
})
