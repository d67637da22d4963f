import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInAsApplication } from '../../src/auth/application-sign-in.ts'
import { createStoredCredential } from '../../src/auth/stored-credential.ts'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { postIssuer } from '../credentials/requests.ts'
import { ok } from '../payments/payer.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { type Served, serveWorld } from './served.ts'

let served: Served
let company: Company
let directory: string
beforeAll(async () => {
  served = await serveWorld()
  company = await openCompany()
  directory = mkdtempSync(join(tmpdir(), 'payments-company-'))
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await company.close()
  await served.close()
})

const trusted = async () => {
  const { agentId } = await served.world.whoami()
  const at = { issuer: company.url, jwksUri: `${company.url}/jwks` }
  return ok(await postIssuer(served.world, String(agentId), at)).json.data.attributes
}

test('the SDK’s CrossAppAccessProvider signs in through the company’s provider, and the host buys a card', async () => {
  const { clientId, clientSecret } = await trusted()
  const authProvider = new CrossAppAccessProvider({
    assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
      const asked = { audience: authorizationServerUrl, resource: resourceUrl, ...(scope && { scope }), fetchFn }
      const signedIn = { idpUrl: company.url, idToken: 'clerk', clientId, clientSecret: 'at the company' }
      return (await discoverAndRequestJwtAuthGrant({ ...asked, ...signedIn })).jwtAuthGrant
    },
    ...{ clientId, clientSecret, expectedIssuer: served.url },
  })
  const host = new Client({ name: 'chat', version: '1' })
  await host.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { authProvider }))
  try {
    const input = { merchant: { name: 'Books' }, maximumAmount: 5_000 }
    const { structuredContent } = await host.callTool({ name: 'issue_agent_card', arguments: input })
    expect(structuredContent).toMatchObject({ data: { attributes: { status: 'active' } } })
  } finally {
    await host.close()
  }
  expect(company.vouched.at(-1)).toEqual({ audience: served.url, resource: `${served.url}/mcp` })
})

test('login --enterprise stores the paths of its secrets, and renews with another assertion', async () => {
  const { clientId, clientSecret } = await trusted()
  const [proofFile, idTokenFile] = [join(directory, 'secret'), join(directory, 'id-token')]
  writeFileSync(proofFile, `${clientSecret}\n`)
  writeFileSync(idTokenFile, 'clerk\n')
  const system = fakeSystem({ now: Date.now() })
  const store = createTokenStore({ directory: join(directory, 'logins'), system })
  const options = { baseUrl: served.url, store, system, fetch: (request: Request) => fetch(request) }
  // This provider knows its clients by the ids that they have here.
  const signedIn = { idp: company.url, idpClientId: clientId, idTokenFile }
  await signInAsApplication(options, { clientId, proofFile, company: signedIn })
  const text = readFileSync(store.path, 'utf8')
  expect(JSON.parse(text).logins[served.url]).toMatchObject({ clientId, proofFile, company: signedIn })
  expect(text).not.toContain(clientSecret)
  const credential = createStoredCredential(options)
  const first = await credential()
  expect((await served.world.whoami(first)).agentId).toBe((await served.world.whoami()).agentId)
  const { length } = company.vouched
  system.pass(14 * 60_000)
  expect(await credential()).not.toBe(first)
  expect(company.vouched).toHaveLength(length + 1)
  // Without a current ID token the provider no longer vouches for the person, and the login ends with its access token.
  company.refuses = true
  system.pass(16 * 60_000)
  await expect(credential()).rejects.toMatchObject({ message: expect.stringContaining('issued no assertion') })
})

interface Company {
  url: string
  /** The audience and resource of each assertion that it issued. */
  vouched: { audience: string; resource: string }[]
  /** Whether it no longer vouches for anybody. */
  refuses: boolean
  close(): Promise<void>
}

/** Starts a company's identity provider, which exchanges an ID token for an assertion (RFC 8693). */
async function openCompany(): Promise<Company> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'company', alg: 'ES256' }]
  const vouched: Company['vouched'] = []
  const exchange = async (form: URLSearchParams) => {
    const [audience, resource] = [String(form.get('audience')), String(form.get('resource'))]
    vouched.push({ audience, resource })
    const assertion = await new SignJWT({ client_id: form.get('client_id'), resource, scope: form.get('scope') })
      .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid: 'company' })
      .setIssuer(url)
      .setSubject(String(form.get('subject_token')))
      .setAudience(audience)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    const issued_token_type = 'urn:ietf:params:oauth:token-type:id-jag'
    return { access_token: assertion, issued_token_type, token_type: 'N_A', expires_in: 300 }
  }
  const server: Server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const metadata = {
      ...{ issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` },
      ...{ jwks_uri: `${url}/jwks`, response_types_supported: ['code'] },
    }
    const exchanging = request.url === '/token'
    const isRefused = exchanging && company.refuses
    const answered = exchanging ? await exchange(new URLSearchParams(body)) : metadata
    const answer = isRefused ? { error: 'invalid_grant' } : request.url === '/jwks' ? { keys } : answered
    const type = { 'content-type': 'application/json' }
    response.writeHead(isRefused ? 400 : 200, type).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    vouched,
    refuses: false,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
