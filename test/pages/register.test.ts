import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import { trust } from '../credentials/requests.ts'
import { ok } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { addParty } from '../support/world.ts'
import { address, type PageAnswer, type Visitor } from './oauth-site.ts'
import { createPersonSite, type PersonSite } from './person-site.ts'

const application = '/connections/new/application'
const provider = '/connections/new/identity-provider'

/** Returns the errors that a form shows next to its fields. The keys are the ids of the fields. */
function problemsIn({ text }: PageAnswer): Record<string, string> {
  const found = text.matchAll(/<p class="problem" id="([\w-]+)-problem">([^<]+)<\/p>/g)
  return Object.fromEntries([...found].map(([, field = '', problem = '']) => [field, unescaped(problem)]))
}

const unescaped = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'")

/** Returns the value that the page shows next to a label. */
function factIn({ text }: PageAnswer, label: string): string {
  const [, value = ''] = new RegExp(`<dt>${label}</dt><dd><(?:code|bdi)>([^<]*)</`).exec(text) ?? []
  return value
}

onEachDatabase('the forms that register applications and trust identity providers', (database) => {
  let site: PersonSite
  let visitor: Visitor
  let agentId: string
  let publishedKeys: object[]

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    publishedKeys = []
    const publicFetch = (async () => Response.json({ keys: publishedKeys })) as unknown as typeof fetch
    site = await createPersonSite(database, { system: dateSystem(), publicFetch })
    visitor = await site.visitor(site.owner)
    agentId = String((await site.world.whoami()).agentId)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await site.world.drop()
  })

  const appFields = (change: Record<string, string | string[]> = {}) => ({
    ...{ name: 'Nightly orders', agentId, scope: ['payments:read', 'cards:agent'], proof: 'secret', ...change },
  })
  const providerFields = (change: Record<string, string | string[]> = {}) => ({
    ...{ ...trust, claim: 'sub', value: 'clerk', agentId, scope: ['payments:read', 'cards:agent'], ...change },
  })
  const send = async (path: string, fields: Record<string, string | string[]>, by = visitor) => {
    await by.open(path)
    return by.send(path, fields)
  }

  const requestToken = async (form: Record<string, string>, secret?: { id: string; secret: string }) => {
    const headers = secret && { authorization: `Basic ${btoa(`${secret.id}:${secret.secret}`)}` }
    const init = { method: 'POST', body: new URLSearchParams(form), ...(headers && { headers }) }
    const answer = await site.world.service.fetch(new Request(`${address}/oauth/token`, init))
    return (await answer.json()) as Record<string, string>
  }
  const listed = async (path: string) =>
    ok(await site.world.get(path, { key: site.world.apiKey })).json.data as { id: string; attributes: object }[]
  const expectNothingCreated = async () =>
    expect([...(await listed('/applications')), ...(await listed('/trusted-issuers'))]).toEqual([])

  test('a registered application signs in with the secret that the page showed once, until it is disconnected on /connections', async () => {
    const made = await send(application, appFields())
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const id = factIn(made, 'Client id')
    const secret = factIn(made, 'Client secret')
    expect(made.text).toContain(`--client-id ${id} \\\n  --proof-file secret.txt --base-url ${address}</pre>`)
    const tokenRequest = { grant_type: 'client_credentials' }
    const { access_token: key = '', scope } = await requestToken(tokenRequest, { id, secret })
    expect(scope).toBe('payments:read cards:agent')
    const { data } = ok(await site.world.get('/whoami', { key })).json
    expect(data.attributes).toMatchObject({ actorType: 'agent', agentId })
    const page = await visitor.open('/connections')
    expect(page.text).toContain('<bdi>Nightly orders</bdi></h2>')
    expect(page.text).not.toContain(secret)
    expect(site.world.logged.join('\n')).not.toContain(secret)
    const [{ id: grantId = '' } = {}] = await listed('/applications')
    await visitor.send(`/connections/${grantId}`, { action: 'revoke' })
    expect((await requestToken(tokenRequest, { id, secret })).error).toBe('invalid_client')
    expect((await site.world.get('/whoami', { key })).status).toBe(401)
  })

  test('an application registered with a public key signs in with private_key_jwt', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    // Some programs export keys with additional members such as `key_ops` and `ext`. The service ignores these members.
    const key = { ...(await exportJWK(publicKey)), key_ops: ['verify'], ext: true }
    for (const pasted of [key, { keys: [key] }, [key]]) {
      const made = await send(application, appFields({ proof: 'key', keys: JSON.stringify(pasted, null, 2) }))
      expect(made.status).toBe(201)
      expect(made.text).not.toContain('Client secret')
      const id = factIn(made, 'Client id')
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: id, sub: id, aud: address, jti: crypto.randomUUID(), exp: now + 60 }
      const client_assertion = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
      const form = { grant_type: 'client_credentials', client_assertion, client_assertion_type }
      expect(await requestToken(form)).toMatchObject({ access_token: expect.any(String) })
    }
  })

  test('a pasted private key is refused, and neither shown again nor logged', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const key = await exportJWK(privateKey)
    const refused = await send(application, appFields({ proof: 'key', keys: JSON.stringify({ keys: [key] }) }))
    expect(refused.status).toBe(422)
    expect(problemsIn(refused)).toEqual({ keys: expect.stringContaining('This is a private key.') })
    expect(refused.text + site.world.logged.join('\n')).not.toContain(key.d)
    await expectNothingCreated()
  })

  test('each problem in the application form is shown next to its field, and the form keeps the input', async () => {
    const other = await addParty(site.world)
    const cases: [Record<string, string | string[]>, Record<string, string>][] = [
      [{ name: ' ' }, { name: 'Enter a name.' }],
      [{ name: 'x'.repeat(101) }, { name: 'The name must be ' }],
      [{ agentId: '' }, { agent: 'Choose the agent that the application acts as.' }],
      [{ agentId: other.agentId }, { agent: 'Choose the agent that the application acts as.' }],
      [{ scope: [] }, { scopes: 'Choose at least one permission.' }],
      [{ scope: ['account:read'] }, { scopes: 'scopes' }],
      [{ proof: 'key' }, { keys: 'Paste one public key as JSON' }],
      [{ proof: 'key', keys: 'ssh-ed25519 AAAA' }, { keys: 'Paste one public key as JSON' }],
      [{ proof: 'key', keys: '{"kty":"DSA"}' }, { keys: 'publicKeys.0.kty must be' }],
      [
        { name: '', scope: [] },
        { name: 'Enter a name.', scopes: 'Choose at least one permission.' },
      ],
    ]
    for (const [change, expected] of cases) {
      const refused = await send(application, appFields(change))
      const problems = Object.fromEntries(
        Object.entries(expected).map(([field, text]) => [field, expect.stringContaining(text)]),
      )
      expect({ change, status: refused.status, problems: problemsIn(refused) }).toEqual({
        change,
        status: 422,
        problems,
      })
      expect(refused.text).toContain('role="alert">Nothing was changed. Check the marked fields.')
      expect(refused.text).toContain(`<title>Error: `)
    }
    const kept = await send(application, appFields({ name: 'Kept', agentId: '', scope: ['payments:read'] }))
    expect(kept.text).toContain('value="Kept"')
    expect(kept.text.match(/name="scope" value="[\w:-]+" checked/g)).toEqual([
      'name="scope" value="payments:read" checked',
    ])
    await expectNothingCreated()
  })

  test('with the client secret that the page showed once, a trusted provider’s assertion gets a token, until the trust is revoked on /connections', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    publishedKeys = [{ ...(await exportJWK(publicKey)), kid: 'first', alg: 'ES256' }]
    await visitor.open(provider)
    const first = providerFields({ claim: 'groups', value: 'buyers' })
    const more = await visitor.send(provider, { ...first, action: 'add' })
    expect(more.status).toBe(200)
    for (const kept of ['value="groups"', 'value="buyers"', 'value="https://idp.example"', 'id="claim-1"']) {
      expect(more.text).toContain(kept)
    }
    await expectNothingCreated()
    const rules = { claim: ['groups', 'sub', ''], value: ['buyers', 'clerk', ''], agentId: [agentId, agentId, agentId] }
    const made = await send(provider, providerFields({ ...rules, action: 'trust' }))
    expect(made.status).toBe(201)
    const id = factIn(made, 'Client id')
    const secret = factIn(made, 'Client secret')
    expect([factIn(made, 'Audience'), factIn(made, 'Resource')]).toEqual([address, `${address}/mcp`])
    const agents = [
      { claim: 'groups', value: 'buyers', agentId },
      { claim: 'sub', value: 'clerk', agentId },
    ]
    const [issuer] = await listed('/trusted-issuers')
    expect(issuer).toMatchObject({ attributes: { ...trust, agents, scopes: ['payments:read', 'cards:agent'] } })
    const iat = Math.floor(Date.now() / 1000)
    const claims = { iss: trust.issuer, sub: 'clerk', aud: address, client_id: id, resource: `${address}/mcp`, iat }
    const assertion = () =>
      new SignJWT({ ...claims, jti: crypto.randomUUID(), exp: iat + 300 })
        .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid: 'first' })
        .sign(privateKey)
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    const form = async () => ({ grant_type, assertion: await assertion() })
    expect(await requestToken(await form(), { id, secret })).toMatchObject({ access_token: expect.any(String) })
    const page = await visitor.open('/connections')
    expect(page.text).toContain(`<bdi>${trust.issuer}</bdi>`)
    expect(page.text + site.world.logged.join('\n')).not.toContain(secret)
    await visitor.send(`/connections/${issuer?.id}`, { action: 'revoke' })
    expect((await requestToken(await form(), { id, secret })).error).toBe('invalid_client')
  })

  test('each problem in the provider form is shown next to its field', async () => {
    const other = await addParty(site.world)
    const cases: [Record<string, string | string[]>, Record<string, string>][] = [
      [{ name: '' }, { name: 'Enter a name.' }],
      [{ issuer: '' }, { issuer: 'Enter the address' }],
      [{ issuer: 'http://idp.example' }, { issuer: 'The issuer is not an https address' }],
      [{ jwksUri: '' }, { jwksUri: 'Enter the address' }],
      [{ jwksUri: 'https://10.0.0.1/jwks' }, { jwksUri: 'The address of the keys is not an address on the public' }],
      [{ claim: '', value: '' }, { rules: 'Enter at least one rule' }],
      [{ claim: 'sub', value: '' }, { rules: 'Each rule needs a claim, its value, and an agent.' }],
      [{ agentId: '' }, { rules: 'Each rule needs a claim, its value, and an agent.' }],
      [{ agentId: other.agentId }, { rules: 'Each rule needs a claim, its value, and an agent.' }],
      [{ scope: [] }, { scopes: 'Choose at least one permission.' }],
    ]
    for (const [change, expected] of cases) {
      const refused = await send(provider, providerFields(change))
      const problems = Object.fromEntries(
        Object.entries(expected).map(([field, text]) => [field, expect.stringContaining(text)]),
      )
      const seen = { change, status: refused.status, problems: problemsIn(refused) }
      expect(seen).toEqual({ change, status: 422, problems })
    }
    await expectNothingCreated()
  })

  test('only owners and administrators can submit the forms, and only from this site’s pages in their own session', async () => {
    const [admin, member] = [await site.addUser({ role: 'ADMIN' }), await site.addUser({ role: 'MEMBER' })]
    const signIn = new SignIn(site.world)
    const asMember = await site.visitor(member)
    expect((await asMember.open('/connections')).text).not.toContain('/connections/new/')
    for (const [path, fields] of [
      [application, appFields()],
      [provider, providerFields()],
    ] as const) {
      expect((await asMember.open(path)).status).toBe(403)
      const tokenOf = async (by: Visitor) =>
        String((await signIn.of(by.cookies.get('payments_session')))?.formToken(path))
      const byMember = await asMember.post(path, { ...fields, formToken: await tokenOf(asMember) })
      expect(byMember.status).toBe(403)
      expect(byMember.text).toContain('is for owners and administrators')
      const formToken = await tokenOf(visitor)
      const another = await tokenOf(await site.visitor(site.owner))
      for (const [change, headers] of [
        [{ formToken }, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
        [{ formToken }, { Origin: 'null' }],
        [{ formToken: another }, {}],
        [{}, {}],
      ] as const) {
        expect((await visitor.post(path, { ...fields, ...change }, headers)).status).toBe(403)
      }
      // A request with an agent's key or an API key, but without a session, is sent to the sign-in page.
      for (const key of [site.world.agentKey, site.world.apiKey]) {
        const nobody = await site.visitor()
        const sent = await nobody.post(path, { ...fields, formToken }, { Authorization: `Bearer ${key}` })
        expect(sent).toMatchObject({ status: 303, location: `/sign-in?next=${encodeURIComponent(path)}` })
      }
    }
    await expectNothingCreated()
    const byAdmin = await site.visitor(admin)
    expect((await byAdmin.open('/connections')).text).toContain(`href="${application}"`)
    expect((await send(application, appFields(), byAdmin)).status).toBe(201)
    expect((await send(provider, providerFields(), byAdmin)).status).toBe(201)
  })
})
