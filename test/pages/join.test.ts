import { afterAll, beforeAll, expect, test } from 'vitest'
import { ok } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { World } from '../support/world.ts'
import { createPersonSite, type PersonSite } from './person-site.ts'

const password = 'correct horse battery'

onEachDatabase('the page of a party invitation', (database) => {
  let site: PersonSite
  let world: World
  let invited = 0

  beforeAll(async () => {
    site = await createPersonSite(database)
    world = site.world
  })
  afterAll(() => world.drop())

  const owner = () => ({ key: world.apiKey })
  const invite = async (role = 'MEMBER', email = `member${invited++}@example.com`) => {
    const answer = await world.post('/party-invitations', { invitations: [{ email, role }] }, owner())
    expect(answer.status, answer.text).toBe(201)
    const [{ id, attributes }] = answer.json.data
    return { id: id as string, email, path: new URL(attributes.url).pathname }
  }
  const statusOf = async (id: string) =>
    ok(await world.get('/party-invitations', owner())).json.data.find((one: { id: string }) => one.id === id).attributes
      .status
  const members = async (): Promise<Member[]> =>
    ok(await world.get('/parties/me/members', owner())).json.data.map(
      ({ attributes }: { attributes: Member }) => attributes,
    )

  test('the page shows the inviting party, the invited address and the role, and contains no script', async () => {
    const { path, email } = await invite('ADMIN')
    const page = await (await site.visitor()).open(path)
    expect(page.status).toBe(200)
    for (const words of ['Sandbox Organization', email, 'Admin: ']) expect(page.text).toContain(words)
    expect(page.text).not.toContain('<script')
    expect(page.headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'")
    expect((await (await site.visitor()).open(`/join/${'0'.repeat(64)}`)).status).toBe(404)
  })

  test('the invited person joins with a name and a password, and is signed in', async () => {
    const { id, path, email } = await invite('ADMIN')
    const visitor = await site.visitor()
    await visitor.open(path)
    const joined = await visitor.send(path, { decision: 'accept', name: '  Ada \n Lovelace ', password })
    expect([joined.status, joined.location]).toEqual([303, '/connections'])
    expect((await visitor.open('/connections')).text).toContain('<bdi>Ada Lovelace</bdi>')
    expect(await statusOf(id)).toBe('ACCEPTED')
    expect(await members()).toContainEqual(expect.objectContaining({ email, role: 'ADMIN', status: 'ACTIVE' }))
    const after = await visitor.open(path)
    expect(after.text).toContain('You joined')
    expect(after.text).not.toContain('<form')
    const elsewhere = await site.visitor()
    await elsewhere.open('/sign-in')
    expect((await elsewhere.send('/sign-in', { email, password })).location).toBe('/console')
    const { data } = ok(await world.get('/activity?limit=100', owner())).json
    const accepted = data.filter(({ attributes }: Entry) => attributes.operation === 'accept_party_invitation')
    expect(accepted[0].attributes).toMatchObject({
      actorType: 'user',
      resourceIds: [id, expect.stringMatching(/^usr_/)],
    })
    expect(world.logged.join()).not.toContain(password)
  })

  test('nobody can join a suspended party', async () => {
    const { id, path } = await invite()
    const { partyId } = await world.whoami()
    const decide = async (status: string) =>
      ok(await world.post(`/simulations/parties/${partyId}/compliance`, { status }, owner()))
    await decide('rejected')
    const visitor = await site.visitor()
    await visitor.open(path)
    const refused = await visitor.send(path, { decision: 'accept', name: 'Early', password })
    expect(refused.status).toBe(403)
    expect(refused.text).toContain('is suspended')
    expect(await statusOf(id)).toBe('PENDING')
    await decide('approved')
    expect((await visitor.send(path, { decision: 'accept', name: 'Later', password })).status).toBe(303)
    expect(await statusOf(id)).toBe('ACCEPTED')
  })

  test('submitting the form twice at once creates only one member', async () => {
    const { path, email } = await invite()
    const visitor = await site.visitor()
    await visitor.open(path)
    const fields = { decision: 'accept', name: 'Twice', password }
    const clicks = await Promise.all([visitor.send(path, fields), visitor.send(path, fields)])
    for (const { status } of clicks) expect(status).toBe(303)
    expect((await members()).filter((one) => one.email === email)).toHaveLength(1)
  })

  test('invalid input is reported, and the form does not repeat the password', async () => {
    const { id, path } = await invite()
    const visitor = await site.visitor()
    await visitor.open(path)
    for (const [fields, words] of [
      [{ name: '', password }, 'Enter your name.'],
      [{ name: 'x'.repeat(101), password }, 'Use at most 100 characters.'],
      [{ name: 'Ada', password: 'too short 1' }, 'at least 12 characters'],
      [{ name: 'Ada', password: 'x'.repeat(129) }, 'at most 128 characters'],
      [{ name: 'Ada', password: 'with a\ttab inside' }, 'without tabs'],
    ] as const) {
      const page = await visitor.send(path, { decision: 'accept', ...fields })
      expect(page.status).toBe(422)
      expect(page.text).toContain(words)
      expect(page.text).toContain('<title>Error: ')
      expect(page.text).not.toContain(`value="${fields.password}"`)
    }
    expect(await statusOf(id)).toBe('PENDING')
  })

  test('after an invitation is declined, nobody can join with it; a revoked invitation’s page says that it was revoked', async () => {
    const { id, path, email } = await invite()
    const [visitor, anotherTab] = [await site.visitor(), await site.visitor()]
    await visitor.open(path)
    await anotherTab.open(path)
    expect((await visitor.send(path, { decision: 'decline' })).status).toBe(303)
    expect(await statusOf(id)).toBe('DECLINED')
    expect((await visitor.open(path)).text).toContain('You did not join')
    expect((await anotherTab.send(path, { decision: 'accept', name: 'Late', password })).status).toBe(303)
    expect((await members()).map((one) => one.email)).not.toContain(email)
    const revoked = await invite()
    expect((await world.send('DELETE', `/party-invitations/${revoked.id}`, owner())).status).toBe(200)
    expect((await visitor.open(revoked.path)).text).toContain('revoked the invitation')
  })

  test('if the invited address already belongs to a user, the invitation can only be declined', async () => {
    const existingUser = await site.addUser({
      partyId: await world.customerPartyId(),
      role: 'OWNER',
      name: 'Taken',
      email: 'taken@example.com',
    })
    const { id, path } = await invite('MEMBER', existingUser.email)
    const visitor = await site.visitor(existingUser)
    const page = await visitor.open(path)
    expect(page.text).toContain('already belongs to an account')
    expect(page.text).not.toContain('name="password"')
    const forced = await visitor.send(path, { decision: 'accept', name: 'Taken', password })
    expect(forced.status).toBe(409)
    expect(await statusOf(id)).toBe('PENDING')
    expect((await visitor.send(path, { decision: 'decline' })).status).toBe(303)
    expect(await statusOf(id)).toBe('DECLINED')
  })

  test('a visitor signed in as another user sees a note, and accepting signs them in as the new member', async () => {
    const { path } = await invite()
    const visitor = await site.visitor(site.owner)
    expect((await visitor.open(path)).text).toContain('You are signed in as')
    await visitor.send(path, { decision: 'accept', name: 'New', password })
    expect((await visitor.open('/connections')).text).toContain('<bdi>New</bdi>')
  })

  test('a form sent from another site, or without the invitation’s own form token, changes nothing', async () => {
    const [one, two] = [await invite(), await invite()]
    const visitor = await site.visitor()
    const tokenOf = async (path: string) =>
      /name="formToken" value="([\w.]+)"/.exec((await visitor.open(path)).text)?.[1] ?? ''
    const [right, wrong] = [await tokenOf(one.path), await tokenOf(two.path)]
    const fields = { name: 'Mallory', password }
    const sameOrigin = {}
    for (const [sent, headers] of [
      [{ decision: 'accept', ...fields, formToken: wrong }, sameOrigin],
      [{ decision: 'accept', ...fields }, sameOrigin],
      [{ decision: 'decline', formToken: `1.${'f'.repeat(64)}` }, sameOrigin],
      [{ decision: 'accept', ...fields, formToken: right }, { 'Sec-Fetch-Site': 'cross-site' }],
      [
        { decision: 'decline', formToken: right },
        { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
      ],
    ] as const) {
      expect((await visitor.post(one.path, { ...sent }, { ...headers })).status).toBe(403)
    }
    expect((await visitor.post(one.path, { decision: 'maybe', formToken: right })).status).toBe(400)
    expect(await statusOf(one.id)).toBe('PENDING')
  })
})

interface Member {
  email: string
  role: string
  status: string
}

interface Entry {
  attributes: { operation: string }
}
