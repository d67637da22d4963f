import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { onEachDatabase } from '../support/databases.ts'

const minuteMs = 60_000

onEachDatabase('a one-time link', (database) => {
  let site: PersonSite
  beforeAll(async () => {
    site = await createPersonSite(database)
  })
  afterAll(() => site.world.drop())

  const newLink = async () => {
    const url = new URL(String(await site.world.service.signInLink('/console')))
    return { path: url.pathname + url.search, action: url.pathname, code: url.pathname.split('/').at(-1) ?? '' }
  }

  test('a link signs a person in only once, and then leads to the console; previews of the link do not use it up', async () => {
    const { path, action } = await newLink()
    // Programs that show a preview of the link may open it several times.
    for (const _ of [1, 2]) {
      const preview = await (await site.visitor()).open(path)
      expect([preview.status, preview.headers.get('set-cookie')]).toEqual([200, null])
    }
    const visitor = await site.visitor()
    await visitor.open(path)
    expect(await visitor.send(action)).toMatchObject({ status: 303, location: '/console' })
    expect((await visitor.open('/second-factor')).status).toBe(200)
    const late = await site.visitor()
    expect((await late.open(path)).status).toBe(410)
    const again = await late.post(action, { next: '/console' })
    expect([again.status, again.headers.get('set-cookie')]).toEqual([410, null])
    expect(again.text).toContain('payments-mcp console')
  })

  test('if three people use a link simultaneously, only one is signed in', async () => {
    const { action } = await newLink()
    const visitors = await Promise.all([1, 2, 3].map(() => site.visitor()))
    const answers = await Promise.all(visitors.map((visitor) => visitor.post(action, { next: '/console' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 410, 410])
  })

  test('a link expires after ten minutes, or when the password changes', async () => {
    const [first, second] = [await newLink(), await newLink()]
    site.world.system.pass(10 * minuteMs - 1)
    expect((await (await site.visitor()).open(first.path)).status).toBe(200)
    site.world.system.pass(1)
    expect((await (await site.visitor()).post(first.action, { next: '/console' })).status).toBe(410)
    expect((await (await site.visitor()).post(second.action, { next: '/console' })).status).toBe(410)
    const third = await newLink()
    await site.world.service.seedPassword('another password of the owner')
    expect((await (await site.visitor()).post(third.action, { next: '/console' })).status).toBe(410)
  })

  test('the code of a link has 128 bits, is stored only as a hash, and is not logged', async () => {
    const { code, action } = await newLink()
    expect(Buffer.from(code, 'base64url')).toHaveLength(16)
    await (await site.visitor()).open(action)
    const rows = await site.world.store.read(({ db }) => db.selectFrom('signInLinks').selectAll().execute())
    expect(rows).not.toEqual([])
    expect(JSON.stringify(rows)).not.toContain(code)
    await (await site.visitor()).post(action, { next: '/console' })
    expect(site.world.logged.join('\n')).not.toContain(code)
  })

  test('a link cannot be used by a form of another site, and does not redirect to another site', async () => {
    const { action } = await newLink()
    const visitor = await site.visitor()
    const foreign = await visitor.post(action, { next: '/console' }, { 'Sec-Fetch-Site': 'cross-site' })
    expect(foreign.status).toBe(403)
    expect((await visitor.post(action, { next: 'https://evil.example/' })).location).toBe('/console')
  })
})
