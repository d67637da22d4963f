import { afterEach, beforeEach, expect, test } from 'vitest'
import { createService, type Service } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import {
  type Application,
  authorizationUrl,
  callback,
  connect,
  consent,
  createApplication,
  mcpResource,
} from './application.ts'
import { address, openBrowser } from './browser.ts'

/**
 * A thief and the owner may present the same code or refresh token at the same time, even to two processes. At most one
 * of these requests gets tokens. The other requests are refused, and each of them revokes those tokens.
 */
onEachDatabase('simultaneous token requests', (database) => {
  let world: World
  let stores: Store[]
  let services: Service[]

  beforeEach(async () => {
    const system = dateSystem()
    world = await createWorld(database, { system })
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    stores = [await openStore({ url: world.url, system }), await openStore({ url: world.url, system })]
    services = stores.map((store) =>
      createService({ store, system, log, environment: 'sandbox', rateLimit: 1_000_000 }),
    )
  })
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await world.drop()
  })

  const post = async (service: Service | undefined, form: Record<string, string>) => {
    const request = new Request(`${address}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
    const response = await (service ?? world.service).fetch(request)
    return { status: response.status, json: (await response.json()) as Record<string, string> }
  }

  /**
   * Sends the form eight times simultaneously, alternating between two services. Checks that at most one request gets
   * tokens, and that these tokens are revoked.
   */
  const race = async (form: Record<string, string>, { client }: Application) => {
    const requests = Array.from({ length: 8 }, (_, count) => post(services[count % 2], form))
    const answers = await Promise.all(requests)
    const [won, lost] = [answers.filter(({ status }) => status === 200), answers.filter(({ status }) => status !== 200)]
    expect(won.length).toBeLessThanOrEqual(1)
    for (const answer of lost) expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_grant' } })
    for (const { json } of won) {
      expect((await world.get('/whoami', { key: String(json.access_token) })).status).toBe(401)
      const refresh_token = String(json.refresh_token)
      const refresh = { grant_type: 'refresh_token', refresh_token, client_id: client.client_id }
      expect(await post(undefined, refresh)).toMatchObject({ json: { error: 'invalid_grant' } })
    }
  }

  test('eight requests with the same code leave no valid token', async () => {
    const application = await createApplication(world)
    const attempt = await authorizationUrl(application)
    const back = new URL((await consent(openBrowser(world), attempt.url)).url)
    const form = {
      grant_type: 'authorization_code',
      client_id: application.client.client_id,
      code: String(back.searchParams.get('code')),
      code_verifier: attempt.verifier,
      redirect_uri: callback,
      resource: mcpResource,
    }
    await race(form, application)
    expect(await post(undefined, form)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } })
  })

  test('eight requests with the same refresh token leave no valid token', async () => {
    const { application, tokens } = await connect(world)
    const { client_id } = application.client
    await race({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id }, application)
    expect((await world.get('/whoami', { key: tokens.access_token })).status).toBe(401)
  })
})
