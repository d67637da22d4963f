import { existsSync, readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setUpApp } from '../approvals/authenticator.ts'
import { readAllTables } from '../ledger/books.ts'
import { connect } from '../oauth/application.ts'
import { openBrowser } from '../oauth/browser.ts'
import { createVisitor } from '../pages/oauth-site.ts'
import { databasesForLong } from '../support/databases.ts'
import { createFlows, type Flows } from './flows.ts'

describe.each(databasesForLong)('secrets in storage and output on $name', (database) => {
  let flows: Flows

  beforeAll(async () => {
    flows = await createFlows(database)
    await flows.callOverRest()
    await useOAuth(flows)
    await usePages(flows)
    await flows.callOverMcp()
  })
  afterAll(() => flows.close())

  test('no secret appears in the database, the log, errors, or answers that should contain none', async () => {
    const { canaries } = flows
    const places = { ...(await storedTexts(flows)), ...flows.outputs }
    console.info(
      `${database.name}: ${canaries.values.size} canaries (${new Set(canaries.values.values()).size} kinds) × ${Object.keys(places).length} places`,
    )
    expect(canaries.values.size).toBeGreaterThan(20)
    expect(places['the runs']?.length).toBeGreaterThan(10_000)
    for (const [place, text] of Object.entries(places)) expect(text.length, place).toBeGreaterThan(100)
    expect(canaries.hitsIn(places)).toEqual([])
  })

  async function storedTexts({ on: { world } }: Flows): Promise<Record<string, string>> {
    await world.service.runLog.flush()
    const path = world.url.replace(/^sqlite:/, '')
    const files = database.name === 'sqlite' ? [path, `${path}-wal`].filter(existsSync) : []
    let activity = ''
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { text, json } = await world.get(`/activity?limit=100${cursor && `&cursor=${cursor}`}`, {
        key: world.apiKey,
      })
      activity += text
      cursor = json.meta.pagination.nextCursor
    }
    const { runs, runEntries, runMinutes: _, ...others } = Object.fromEntries(await readAllTables(world.store))
    const answers = (others.idempotencyRecords ?? []).map(({ answer }) => Buffer.from((answer ?? []) as Uint8Array))
    return {
      'the rows': JSON.stringify(others),
      'the recorded answers': answers.map((answer) => answer.toString('utf8')).join('\n'),
      'the runs': JSON.stringify([runs, runEntries]),
      'the log': world.logged.join('\n'),
      'the activity': activity,
      ...Object.fromEntries(files.map((file) => [file.slice(path.length - 7), readFileSync(file, 'latin1')])),
    }
  }
})

/** Signs in with a wrong password and then with the right one, sets up an authenticator app, and pays at a checkout. */
async function usePages({ on: { world }, canaries }: Flows): Promise<void> {
  const [password, wrongPassword, number] = [
    'canary horse battery staple',
    'canary donkey battery nail',
    '4000056655665556',
  ]
  canaries.add('password', password)
  canaries.add('wrong password', wrongPassword)
  canaries.add('card number that a payer typed', number)
  const email = String((await world.service.seedPassword(password)).email)
  const app = new Hono().all('*', (c) => world.service.fetch(c.req.raw))
  const visitor = createVisitor(app)
  await visitor.open('/sign-in')
  expect((await visitor.send('/sign-in', { email, password: wrongPassword })).status).toBe(401)
  await visitor.open('/sign-in')
  expect((await visitor.send('/sign-in', { email, password })).status).toBe(303)
  for (const [name, value] of visitor.cookies) canaries.add(`cookie ${name}`, value)
  canaries.add('seed of an authenticator app', await setUpApp(visitor, world.system))
  const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
  const subscription = await world.post('/subscriptions', terms, { key: world.apiKey })
  const { clientSecret, checkoutUrl } = subscription.json.data.attributes
  canaries.add('clientSecret', clientSecret)
  canaries.add('checkoutUrl', String(checkoutUrl).split('/').at(-1) ?? '')
  const payerKey = 'canary_payer_key_'.padEnd(43, 'x')
  canaries.add('payerKey', payerKey)
  const pay = async (typed: string) => {
    const attributes = { clientSecret, payerKey, number: typed, expiry: '12/34', cvv: '987' }
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' } }
    const body = JSON.stringify({ data: { attributes } })
    const answer = await world.service.fetch(new Request('http://127.0.0.1:4010/checkout/pay', { ...init, body }))
    return (await answer.json()) as { data?: { attributes: { manageToken: string } }; errors?: unknown }
  }
  // The sandbox refuses the first number, because it is not a test card. The second number is a test card.
  expect((await pay(number)).errors).toBeDefined()
  const { data } = await pay('4242424242424242')
  canaries.add('manageToken', String(data?.attributes.manageToken))
}

/** Connects an application, refreshes its tokens, and makes a request with the new access token. */
async function useOAuth({ on: { world }, canaries }: Flows): Promise<void> {
  const browser = openBrowser(world)
  const { tokens, back, application, attempt } = await connect(world, { browser })
  canaries.add('authorization code', String(new URL(back.url).searchParams.get('code')))
  canaries.add('PKCE verifier', attempt.verifier)
  const refresh = async (token: string) => {
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: application.client.client_id,
    })
    const request = new Request(String(application.server.token_endpoint), { method: 'POST', body })
    const answer = await world.service.fetch(request)
    if (answer.status !== 200) throw new Error(await answer.text())
    return (await answer.json()) as typeof tokens
  }
  const renewed = await refresh(tokens.refresh_token)
  for (const { access_token, refresh_token } of [tokens, renewed]) {
    canaries.add('access token', access_token)
    canaries.add('refresh token', refresh_token)
  }
  for (const [name, value] of browser.cookies) if (value.length >= 20) canaries.add(`cookie ${name}`, value)
  const identity = await world.service.fetch(
    new Request('http://127.0.0.1:4010/whoami', { headers: { Authorization: `Bearer ${renewed.access_token}` } }),
  )
  if (identity.status !== 200) throw new Error(await identity.text())
}
