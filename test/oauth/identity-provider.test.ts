import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { refuseIdentityProvider } from '../../src/commands/identity-provider.ts'
import { loadConfig } from '../../src/config/load.ts'
import { firstOwner, revokeUser } from '../../src/service/store/users.ts'
import { postIssuer } from '../credentials/requests.ts'
import { ok } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addUserToken } from '../support/world.ts'
import { type Company, type Host, openCompany, signInAt, trustHost } from './company.ts'
import { type Served, serveWorld } from './served.ts'

onEachDatabase('the identity provider next to the sandbox', (database) => {
  let served: Served
  let company: Company
  let host: Host
  let email: string
  let idToken: string
  // The provider's OAuth library must print nothing, because its lines would mix with the output of `serve`.
  const printed: unknown[] = []
  beforeAll(async () => {
    vi.spyOn(console, 'info').mockImplementation((...line) => void printed.push(line))
    served = await serveWorld({ database })
    company = await openCompany(served)
    email = String((await served.world.store.read(firstOwner))?.email)
    host = await trustHost(served, company, email)
    idToken = await signInAt(company, host, email)
  })
  afterAll(async () => {
    expect(printed).toEqual([])
    await company.close()
    await served.close()
  })

  const tokenTypes = 'urn:ietf:params:oauth:token-type'

  const exchange = async (change: Record<string, string> = {}, { clientId, clientSecret } = host) => {
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: `${tokenTypes}:id-jag`,
      subject_token_type: `${tokenTypes}:id_token`,
      subject_token: idToken,
      audience: served.url,
      resource: `${served.url}/mcp`,
      ...change,
    }
    const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
    const response = await fetch(`${company.url}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
    return (await response.json()) as Record<string, string>
  }

  test('an ID token is exchanged for an assertion for the host and this server, valid for five minutes', async () => {
    const { access_token: assertion = '', ...answer } = await exchange({ scope: 'payments:read' })
    expect(answer).toMatchObject({ issued_token_type: `${tokenTypes}:id-jag`, token_type: 'N_A', expires_in: 300 })
    expect(decodeProtectedHeader(assertion)).toMatchObject({ alg: 'ES256', typ: 'oauth-id-jag+jwt' })
    const { iat = 0, exp = 0, ...claims } = decodeJwt(assertion)
    expect(exp - iat).toBe(300)
    expect(claims).toEqual({
      iss: company.url,
      sub: decodeJwt(idToken).sub,
      aud: served.url,
      resource: `${served.url}/mcp`,
      client_id: host.clientId,
      email,
      scope: 'payments:read',
      jti: expect.any(String),
    })
    expect(decodeJwt(String((await exchange()).access_token)).jti).not.toBe(claims.jti)
  })

  test('the provider accepts only its own ID tokens, and issues assertions only for this server', async () => {
    const other = await trustHost(served, company, email)
    const assertion = String((await exchange()).access_token)
    const errors = async (change: Record<string, string>, by = host) => (await exchange(change, by)).error
    expect(await errors({ audience: 'https://elsewhere.example' })).toBe('invalid_target')
    expect(await errors({ resource: 'https://elsewhere.example/mcp' })).toBe('invalid_target')
    expect(await errors({ requested_token_type: `${tokenTypes}:access_token` })).toBe('invalid_request')
    expect(await errors({ subject_token_type: `${tokenTypes}:access_token` })).toBe('invalid_request')
    expect(await errors({ subject_token: 'none' })).toBe('invalid_grant')
    expect(await errors({ subject_token: assertion })).toBe('invalid_grant')
    expect(await errors({}, other)).toBe('invalid_grant')
    // For this host, the service trusts a different provider, so the host is not a client of this provider.
    const { agentId } = await served.world.whoami()
    const elsewhere = ok(await postIssuer(served.world, String(agentId))).json.data.attributes
    expect(await errors({}, elsewhere)).toBe('invalid_client')
    expect(await errors({}, { ...host, clientSecret: other.clientSecret })).toBe('invalid_client')
  })

  test('the provider issues no assertion for a removed person or to a host that is no longer trusted', async () => {
    const { partyId } = await served.world.whoami()
    const { userId } = await addUserToken(served.world, partyId)
    const leaving = await trustHost(served, company, `${userId}@example.com`)
    const leaverToken = { subject_token: await signInAt(company, leaving, `${userId}@example.com`) }
    expect((await exchange(leaverToken, leaving)).error).toBeUndefined()
    await served.world.store.transaction((tx) => revokeUser(tx, { id: userId, partyId } as never, Date.now()))
    expect((await exchange(leaverToken, leaving)).error).toBe('invalid_grant')
    const { data } = ok(await served.world.get('/trusted-issuers', { key: served.world.apiKey })).json
    const [{ id }] = data.filter(({ attributes }: { attributes: Host }) => attributes.clientId === leaving.clientId)
    ok(await served.world.send('DELETE', `/trusted-issuers/${id}`, { key: served.world.apiKey }))
    expect((await exchange(leaverToken, leaving)).error).toBe('invalid_client')
  })

  test('the provider lets a person sign in only for a host on this machine that uses PKCE', async () => {
    const ask = async (change: Record<string, string>) => {
      const asked = { client_id: host.clientId, response_type: 'code', scope: 'openid', ...change }
      const response = await fetch(`${company.url}/authorize?${new URLSearchParams(asked)}`, { redirect: 'manual' })
      return { status: response.status, location: response.headers.get('location') }
    }
    const pkce = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }
    const here = { redirect_uri: 'http://localhost:3000/back' }
    expect(await ask({ ...here, ...pkce })).toMatchObject({
      status: 303,
      location: expect.stringMatching(/\/sign-in\//),
    })
    expect((await ask({ ...pkce, redirect_uri: 'https://elsewhere.example/back' })).status).toBe(400)
    expect((await ask(here)).location).toContain('error=invalid_request')
    const page = await fetch(`${company.url}/authorize?client_id=%3Cb%3E`)
    expect({ status: page.status, text: await page.text() }).toMatchObject({
      status: 400,
      text: expect.stringContaining('invalid_client: client is invalid'),
    })
    expect((await fetch(`${company.url}/sign-in/unknown`)).status).toBe(404)
  })
})

test('the identity provider cannot run in production, or where other machines could use it', () => {
  const refuse = (env: Record<string, string>) => () =>
    refuseIdentityProvider(loadConfig({ env: { PAYMENTS_WITH_IDP: 'true', ...env }, flags: {} }))
  expect(refuse({})).not.toThrow()
  for (const [env, got] of [
    [{ PAYMENTS_ENVIRONMENT: 'production' }, 'in production at "http://127.0.0.1:4010"'],
    [{ PAYMENTS_PUBLIC_URL: 'https://payments.example' }, 'in sandbox at "https://payments.example"'],
    [{ PAYMENTS_HOST: '0.0.0.0' }, 'in sandbox at "http://0.0.0.0:4010"'],
  ] as const) {
    expect(refuse(env)).toThrow(`PAYMENTS_WITH_IDP (--with-idp) got true ${got}; it accepts true only in a sandbox`)
  }
})
