import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { onEachDatabase } from '../support/databases.ts'

const minutes = 60_000

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

  test('signs a person in once and leads to the page; opening the link does not use it up', async () => {
    const { path, action } = await newLink()
    // Link previews may open the address several times.
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

  test('signs in one of two simultaneous users', async () => {
    const { action } = await newLink()
    const visitors = await Promise.all([1, 2, 3].map(() => site.visitor()))
    const answers = await Promise.all(visitors.map((visitor) => visitor.post(action, { next: '/console' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 410, 410])
  })

  test('expires after ten minutes, or when the password changes', async () => {
    const [first, second] = [await newLink(), await newLink()]
    site.world.system.pass(10 * minutes - 1)
    expect((await (await site.visitor()).open(first.path)).status).toBe(200)
    site.world.system.pass(1)
    expect((await (await site.visitor()).post(first.action, { next: '/console' })).status).toBe(410)
    expect((await (await site.visitor()).post(second.action, { next: '/console' })).status).toBe(410)
    const third = await newLink()
    await site.world.service.seedPassword('another password of the owner')
    expect((await (await site.visitor()).post(third.action, { next: '/console' })).status).toBe(410)
  })

  test('has 128 bits, is stored only as a hash, and is not logged', async () => {
    const { code, action } = await newLink()
    expect(Buffer.from(code, 'base64url')).toHaveLength(16)
    await (await site.visitor()).open(action)
    const rows = await site.world.store.read(({ db }) => db.selectFrom('signInLinks').selectAll().execute())
    expect(rows).not.toEqual([])
    expect(JSON.stringify(rows)).not.toContain(code)
    await (await site.visitor()).post(action, { next: '/console' })
    expect(site.world.logged.join('\n')).not.toContain(code)
  })

  test("does not work from another site's form, and redirects to no other site", async () => {
    const { action } = await newLink()
    const visitor = await site.visitor()
    const foreign = await visitor.post(action, { next: '/console' }, { 'Sec-Fetch-Site': 'cross-site' })
    expect(foreign.status).toBe(403)
    expect((await visitor.post(action, { next: 'https://evil.example/' })).location).toBe('/console')
  })
})
