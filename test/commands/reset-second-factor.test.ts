import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setUpApp } from '../approvals/authenticator.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

onEachDatabase('reset-second-factor', (database) => {
  let site: PersonSite
  beforeAll(async () => {
    // The command uses the machine's clock, so the fake clock of the service must show the same time.
    site = await createPersonSite(database, { system: fakeSystem({ now: Date.now() }) })
  })
  afterAll(() => site.world.drop())

  const reset = (email: string, env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'reset-second-factor', '--email', email], {
      env: { PATH: process.env.PATH, PAYMENTS_DATABASE_URL: site.world.url, ...env },
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }

  test('reset-second-factor removes a lost app, records this as activity, and allows a new app', async () => {
    const { world, owner } = site
    const first = await setUpApp(await site.visitor(owner), world.system)
    expect(reset(String(owner.email).toUpperCase())).toMatchObject({ status: 0, stderr: '' })
    const { json } = await world.get('/activity?limit=1', { key: world.apiKey })
    expect(json.data[0]).toMatchObject({
      attributes: { operation: 'reset_second_factor', actorType: 'visitor', resourceIds: [owner.id] },
    })
    const second = await setUpApp(await site.visitor(owner), world.system)
    expect(second).not.toBe(first)
  })

  test.runIf(isDeep)('reset-second-factor changes nothing if the user, app or database is missing', async () => {
    const { email } = await site.addUser()
    expect(reset(email)).toMatchObject({ status: 0, stdout: expect.stringContaining('nothing was changed') })
    const refusals = [
      [reset('nobody@example.com'), '--email got "nobody@example.com"'],
      [reset(email, { PAYMENTS_DATABASE_URL: 'sqlite::memory:' }), 'PAYMENTS_DATABASE_URL (--database-url) got'],
      [reset(email, { PAYMENTS_BASE_URL: 'https://payments.example' }), 'PAYMENTS_BASE_URL (--base-url) got'],
    ] as const
    for (const [{ status, stdout, stderr }, message] of refusals) {
      expect([status, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/^payments-mcp: [^\n]+\n$/)
      expect(stderr).toContain(message)
    }
  })
})
