import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { countClients } from '../../src/service/store/oauth-records.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { dateSystem, fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { authorizationUrl, callback, connect, createApplication } from './application.ts'
import { address, openBrowser } from './browser.ts'
import { openFetchingService } from './published.ts'

const minimal = { redirect_uris: [callback] }
const dayMs = 24 * 60 * 60 * 1000

async function register({ service }: Pick<World, 'service'>, metadata: unknown, from?: string) {
  const body = typeof metadata === 'string' ? metadata : JSON.stringify(metadata)
  const headers = { 'content-type': 'application/json' }
  const request = new Request(`${address}/oauth/register`, { method: 'POST', body, headers })
  const response = await service.fetch(request, from === undefined ? undefined : { local: false, address: from })
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  }
}

describe('registration', () => {
  let world: World
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    world = await createWorld(sqlite, { system: dateSystem() })
  })
  afterEach(async () => {
    vi.useRealTimers()
    await world.drop()
  })

  test('a registration returns a client id and no secret', async () => {
    const { status, json } = await register(world, { ...minimal, client_name: 'A host', scope: 'account:read' })
    expect(status).toBe(201)
    expect(json).toMatchObject({
      client_id: expect.stringMatching(/^ocl_[0-9a-f]{32}$/),
      client_name: 'A host',
      redirect_uris: [callback],
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
    for (const name of ['client_secret', 'registration_access_token', 'scope']) expect(json).not.toHaveProperty(name)
  })

  test.each(['client_secret_basic', 'client_secret_post', 'client_secret_jwt'])(
    'a client that asks for %s gets no secret',
    async (token_endpoint_auth_method) => {
      const { json } = await register(world, { ...minimal, token_endpoint_auth_method, client_secret: 'mine' })
      expect(json).toMatchObject({ token_endpoint_auth_method: 'none' })
      expect(JSON.stringify(json)).not.toContain('mine')
    },
  )

  test.each([
    ['native', ['http://127.0.0.1/callback']],
    ['native', ['http://localhost:1234/callback', 'https://app.example/callback']],
    ['native', ['com.example.app:/callback']],
    ['web', ['https://app.example/callback']],
  ])(
    'the type %s is registered for the redirect URIs %j, whether the request states the type web or no type',
    async (type, redirect_uris) => {
      for (const typeFields of [{}, { application_type: 'web' }]) {
        const { json } = await register(world, { redirect_uris, ...typeFields })
        expect(json).toMatchObject({ application_type: type, redirect_uris })
      }
    },
  )

  test.each([
    [{}, 'invalid_redirect_uri'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://app.example/callback'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['https://app.example/callback#fragment'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['data:text/html,hello'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['file:///etc/passwd'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['//app.example'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: 'https://app.example' }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://app.example/callback'], application_type: 'web' }, 'invalid_redirect_uri'],
    [{ ...minimal, grant_types: ['implicit'] }, 'invalid_client_metadata'],
    [{ ...minimal, grant_types: ['password'] }, 'invalid_client_metadata'],
    [{ ...minimal, grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    [{ ...minimal, response_types: ['token'] }, 'invalid_client_metadata'],
    [{ ...minimal, response_types: ['id_token'] }, 'invalid_client_metadata'],
    [{ ...minimal, token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
    [{ ...minimal, client_uri: 'javascript:alert(1)' }, 'invalid_client_metadata'],
    [{ ...minimal, logo_uri: 'file:///etc/passwd' }, 'invalid_client_metadata'],
    [[], 'invalid_client_metadata'],
    ['null', 'invalid_client_metadata'],
    ['"text"', 'invalid_client_metadata'],
    ['{', 'invalid_client_metadata'],
    ['', 'invalid_client_metadata'],
  ])('the metadata %j is refused', async (metadata, error) => {
    expect(await register(world, metadata)).toMatchObject({ status: 400, json: { error } })
  })

  test('metadata that is too long is refused with 413', async () => {
    expect(await register(world, { ...minimal, client_name: 'n'.repeat(20_000) })).toMatchObject({
      status: 413,
      json: { error: 'invalid_request' },
    })
  })

  test('each IP address can register 60 applications a minute', async () => {
    const [stranger, host] = ['192.0.2.1', '192.0.2.2']
    for (let count = 0; count < 60; count++) expect((await register(world, minimal, stranger)).status).toBe(201)
    const refused = await register(world, minimal, stranger)
    expect(refused).toMatchObject({ status: 429, json: { error: 'temporarily_unavailable' } })
    expect(refused.headers.get('retry-after')).toBe('60')
    expect((await register(world, minimal, host)).status).toBe(201)
    vi.setSystemTime(Date.now() + 61_000)
    expect((await register(world, minimal, stranger)).status).toBe(201)
  })

  test('the service does not fetch the URLs in the metadata of a registration', async () => {
    const requestedUrls: string[] = []
    const running = await openFetchingService(async (input) => {
      requestedUrls.push(String(input))
      return Response.json([])
    })
    const uri = 'https://app.example/anything'
    const metadata = { ...minimal, sector_identifier_uri: uri, jwks_uri: uri, logo_uri: uri, request_uris: [uri] }
    await register(running, metadata)
    const application = await createApplication(running, { sector_identifier_uri: uri, jwks_uri: uri, logo_uri: uri })
    await connect(running, { application })
    expect(requestedUrls).toEqual([])
    await running.close()
  })
})

onEachDatabase('registered applications', (database) => {
  test('an application is deleted after a day unless a person has connected it', async () => {
    const system = fakeSystem({ now: Date.now() })
    const world = await createWorld(database, { system })
    const unused = await createApplication(world)
    const used = await connect(world)
    const statusOf = async (application: typeof unused) =>
      (await openBrowser(world).get((await authorizationUrl(application)).url)).status
    system.pass(dayMs - 1000)
    await register(world, minimal)
    expect(await statusOf(unused)).toBe(200)
    system.pass(2000)
    await world.service.upkeep.once()
    expect(await statusOf(unused)).toBe(400)
    expect(await statusOf(used.application)).toBe(200)
    await world.drop()
  })
})

describe('the limit of 10,000 registered applications', () => {
  test.each([
    { minutes: 61, status: 201, left: 9_981 },
    { minutes: 59, status: 429, left: 10_000 },
  ])('if all are $minutes minutes old and unused, one more gets status $status', async ({ minutes, status, left }) => {
    const world = await createWorld(sqlite, { system: fakeSystem({ now: Date.now() }) })
    const createdAtMs = world.system.now() - minutes * 60_000
    const none = { grantId: null, userCodeHash: null, expiresAtMs: null }
    const client = (number: number) => ({
      ...none,
      model: 'Client',
      idHash: `hash ${number}`,
      uid: `client ${number}`,
      payload: '{}',
      createdAtMs,
    })
    const clients = Array.from({ length: 10_000 }, (_, number) => client(number))
    await world.store.transaction(async ({ db }) => {
      for (let from = 0; from < clients.length; from += 1000) {
        await db
          .insertInto('oauthRecords')
          .values(clients.slice(from, from + 1000))
          .execute()
      }
    })
    expect((await register(world, minimal)).status).toBe(status)
    expect(await world.store.read((tx) => countClients(tx, 'Client'))).toBe(left)
    await world.drop()
  })
})

test('each IP address can begin 120 sign-ins a minute; requests from unknown applications do not count', async () => {
  const world = await createWorld(sqlite, { system: fakeSystem({ now: Date.now() }) })
  const { url } = await authorizationUrl(await createApplication(world))
  const begin = (target: string, address: string) => world.service.fetch(new Request(target), { local: false, address })
  const [stranger, person] = ['192.0.2.1', '192.0.2.2']
  for (let count = 0; count < 121; count++) {
    expect((await begin(`${address}/oauth/authorize?client_id=nobody`, stranger)).status).toBe(400)
  }
  for (let count = 0; count < 120; count++) {
    const begun = await begin(url, stranger)
    expect(begun.headers.get('location')).toContain('/oauth/consent/')
  }
  const refused = await begin(url, stranger)
  expect(refused.headers.get('location')).toMatch(new RegExp(`^${callback}\\?error=temporarily_unavailable&`))
  expect((await begin(url, person)).headers.get('location')).toContain('/oauth/consent/')
  await world.drop()
})
