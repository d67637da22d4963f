import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInAsApplication } from '../../src/auth/application-sign-in.ts'
import { createStoredCredential } from '../../src/auth/stored-credential.ts'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { firstOwner } from '../../src/service/store/users.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { type Company, openCompany, signInAt, trustHost } from './company.ts'
import { type Served, serveWorld } from './served.ts'

onEachDatabase('sign-in of a host through a company’s identity provider', (database) => {
  let served: Served
  let company: Company
  let directory: string
  let email: string
  beforeAll(async () => {
    served = await serveWorld({ database })
    company = await openCompany(served)
    directory = mkdtempSync(join(tmpdir(), 'payments-company-'))
    email = String((await served.world.store.read(firstOwner))?.email)
  })
  afterAll(async () => {
    rmSync(directory, { recursive: true })
    await company.close()
    await served.close()
  })

  test('the SDK’s CrossAppAccessProvider signs in through the company’s identity provider, and the host issues a card', async () => {
    const trusted = await trustHost(served, company, email)
    const idToken = await signInAt(company, trusted, email)
    const { clientId, clientSecret } = trusted
    const authProvider = new CrossAppAccessProvider({
      assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
        const request = { audience: authorizationServerUrl, resource: resourceUrl, ...(scope && { scope }), fetchFn }
        const signedIn = { idpUrl: company.url, idToken, clientId, clientSecret }
        return (await discoverAndRequestJwtAuthGrant({ ...request, ...signedIn })).jwtAuthGrant
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
  })

  test('login --enterprise stores only the paths of the secret files, and renews the token with a new assertion', async () => {
    const trusted = await trustHost(served, company, email)
    const { clientId, clientSecret } = trusted
    const [proofFile, idTokenFile] = [join(directory, 'secret'), join(directory, 'id-token')]
    writeFileSync(proofFile, `${clientSecret}\n`)
    writeFileSync(idTokenFile, `${await signInAt(company, trusted, email)}\n`)
    const system = fakeSystem({ now: Date.now() })
    const store = createTokenStore({ directory: join(directory, 'logins'), system })
    const options = { baseUrl: served.url, store, system, fetch: (request: Request) => fetch(request) }
    const signedIn = { idp: company.url, idpClientId: clientId, idpProofFile: proofFile, idTokenFile }
    await signInAsApplication(options, { clientId, proofFile, company: signedIn })
    const text = readFileSync(store.path, 'utf8')
    expect(JSON.parse(text).logins[served.url]).toMatchObject({ clientId, proofFile, company: signedIn })
    expect(text).not.toContain(clientSecret)
    const credential = createStoredCredential(options)
    const first = await credential()
    expect((await served.world.whoami(first)).agentId).toBe((await served.world.whoami()).agentId)
    system.pass(14 * 60_000)
    expect(await credential()).not.toBe(first)
    // Without a valid ID token, the provider issues no assertion, so the access token cannot be renewed.
    writeFileSync(idTokenFile, 'not a valid token\n')
    system.pass(16 * 60_000)
    await expect(credential()).rejects.toMatchObject({ message: expect.stringContaining('issued no assertion') })
  })

  test('login --enterprise sends the ID token only over HTTPS, or to this machine', async () => {
    const idTokenFile = join(directory, 'unused-id-token')
    writeFileSync(idTokenFile, 'none')
    const store = createTokenStore({ directory: join(directory, 'no-logins'), system: fakeSystem({ now: Date.now() }) })
    const requestedOrigins: string[] = []
    const options = {
      ...{ baseUrl: served.url, store, system: fakeSystem({ now: Date.now() }) },
      fetch: (request: Request) => {
        requestedOrigins.push(new URL(request.url).origin)
        return fetch(request)
      },
    }
    const signedIn = { idp: 'http://idp.example', idpClientId: 'chat', idTokenFile }
    await expect(
      signInAsApplication(options, { clientId: 'oap_1', proofFile: idTokenFile, company: signedIn }),
    ).rejects.toMatchObject({ message: expect.stringContaining('must use https, or http on a loopback host') })
    expect(new Set(requestedOrigins)).toEqual(new Set([served.url]))
  })
})
