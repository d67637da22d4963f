import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client,
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInAsApplication } from '../../src/auth/application-sign-in.ts'
import { createStoredCredential } from '../../src/auth/stored-credential.ts'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { postApplication } from '../credentials/requests.ts'
import { ok } from '../payments/payer.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { type Served, serveWorld } from './served.ts'

let served: Served
let directory: string
beforeAll(async () => {
  served = await serveWorld()
  directory = mkdtempSync(join(tmpdir(), 'payments-application-'))
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await served.close()
})

const registerApplication = async (attributes: object = {}) => {
  const { agentId } = await served.world.whoami()
  return ok(await postApplication(served.world, String(agentId), attributes)).json.data.attributes
}

const registerKey = async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const { clientId } = await registerApplication({ publicKeys: [await exportJWK(publicKey)] })
  return { clientId: String(clientId), pem: await exportPKCS8(privateKey) }
}

type Provider = ClientCredentialsProvider | PrivateKeyJwtProvider

/** Connects an MCP client over HTTP, and issues a card. */
async function issueCard(authProvider: Provider) {
  const host = new Client({ name: 'worker', version: '1' })
  await host.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { authProvider }))
  try {
    const input = { merchant: { name: 'Books' }, maximumAmount: 5_000 }
    const { structuredContent } = await host.callTool({ name: 'issue_agent_card', arguments: input })
    return structuredContent as { data: { attributes: { status: string } } }
  } finally {
    await host.close()
  }
}

test('the SDK’s ClientCredentialsProvider signs in, and the host issues a card', async () => {
  const { clientId, clientSecret } = await registerApplication()
  const { data } = await issueCard(
    new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: served.url }),
  )
  expect(data.attributes.status).toBe('active')
})

test('the SDK’s PrivateKeyJwtProvider signs in, and the host issues a card', async () => {
  const { clientId, pem } = await registerKey()
  const { data } = await issueCard(
    new PrivateKeyJwtProvider({ clientId, privateKey: pem, algorithm: 'ES256', expectedIssuer: served.url }),
  )
  expect(data.attributes.status).toBe('active')
})

test.each(['secret', 'key'])(
  'login --client-credentials stores the path of the file with the %s, and renews the token with that file',
  async (kind) => {
    const proofFile = join(directory, kind)
    const credentialOptions =
      kind === 'secret' ? await registerWithSecretIn(proofFile) : await registerWithKeyIn(proofFile)
    const system = fakeSystem({ now: Date.now() })
    const store = createTokenStore({ directory: join(directory, `login-with-${kind}`), system })
    const options = { baseUrl: served.url, store, system, fetch: (request: Request) => fetch(request) }
    await signInAsApplication(options, credentialOptions)
    const text = readFileSync(store.path, 'utf8')
    expect(JSON.parse(text).logins[served.url]).toMatchObject({ ...credentialOptions, refreshToken: null })
    expect(text).not.toContain(readFileSync(proofFile, 'utf8').trim())
    const credential = createStoredCredential(options)
    const first = await credential()
    expect((await served.world.whoami(first)).agentId).toBe((await served.world.whoami()).agentId)
    system.pass(14 * 60_000)
    const second = await credential()
    expect(second).not.toBe(first)
  },
)

async function registerWithSecretIn(proofFile: string) {
  const { clientId, clientSecret } = await registerApplication()
  writeFileSync(proofFile, `${clientSecret}\n`)
  return { clientId: String(clientId), proofFile }
}

async function registerWithKeyIn(proofFile: string) {
  const { clientId, pem } = await registerKey()
  writeFileSync(proofFile, pem)
  return { clientId, proofFile }
}
