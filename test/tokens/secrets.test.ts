import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAllRows } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, createWorld, type Sent, secrets, type World } from '../support/world.ts'

const cardNumber = '4242424242424242'
const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }

onEachDatabase('secrets', (database) => {
  let world: World
  const answers: { request: string; answer: Answer }[] = []
  let details: Answer

  async function send(method: string, path: string, sent?: Sent): Promise<Answer> {
    const answer = await world.send(method, path, sent)
    answers.push({ request: `${method} ${path}`, answer })
    return answer
  }
  const post = (path: string, attributes: unknown, sent: Sent = {}) => send('POST', path, { ...sent, attributes })

  /** Sends every kind of request about a card, including requests that are refused. */
  beforeAll(async () => {
    world = await createWorld(database)
    const customerPartyId = await world.customerPartyId()
    for (const party of [{}, { customerPartyId }]) {
      const query = 'customerPartyId' in party ? `?customerPartyId=${customerPartyId}` : ''
      const cardId = (await post('/agent-cards', { ...card, ...party })).json.data.id
      details = await world.get(`/agent-cards/${cardId}/details${query}`)
      const authorize = `/simulations/agent-cards/${cardId}/authorize`
      const { id } = (await post(authorize, { ...purchase, ...party }, { idempotencyKey: cardId })).json.data
      await post(authorize, { ...purchase, ...party }, { idempotencyKey: cardId })
      await post(authorize, { ...purchase, ...party })
      await post(authorize, { ...purchase, ...party, merchant: { name: 'Sandbox Unresolved' } })
      for (const action of ['capture', 'refund', 'refund', 'reverse']) {
        const money = action === 'reverse' ? {} : { amount: 60, currency: 'USD' }
        await post(`/simulations/card-transactions/${id}/${action}`, { ...money, ...party })
      }
      for (const path of [`/agent-cards/${cardId}`, '/agent-cards', `/card-transactions/${id}`, '/card-transactions']) {
        await send('GET', `${path}${query}`)
      }
      for (const path of ['/wallets', '/whoami', '/customers', '/simulations/clock', '/openapi.json', '/healthz']) {
        await send('GET', path)
      }
      await send('GET', `/agent-cards/${cardId}/details`, { key: `${world.agentKey}x` })
      await send('GET', `/agent-cards/${cardId}/details?full=1`)
      await send('POST', `/agent-cards/${cardId}/details`)
    }
    await world.post('/simulations/clock/advance', { seconds: 8 * 86_400 })
    await send('GET', '/card-transactions')
  })
  afterAll(() => world.drop())

  /** Returns the rows of the database and, on SQLite, the bytes of its files. */
  async function readStored(): Promise<Record<string, string>> {
    const rows = JSON.stringify(await readAllRows(world.store))
    expect(rows).toContain('Books')
    const path = world.url.replace(/^sqlite:/, '')
    const files = database.name === 'sqlite' ? [path, `${path}-wal`].filter(existsSync) : []
    if (database.name === 'sqlite') expect(files.length).toBeGreaterThan(0)
    const bytes = files.map((file) => [file, readFileSync(file, 'latin1')] as const)
    if (database.name === 'sqlite') expect(bytes.some(([, text]) => text.includes('Books'))).toBe(true)
    return { rows, ...Object.fromEntries(bytes) }
  }

  test('the details of a card contain its number and its security code', () => {
    expect(details.json.data.attributes).toMatchObject({ number: cardNumber, cvv: '123' })
    expect(details.headers.get('cache-control') ?? 'no-store').toContain('no-store')
  })

  test('no other answer contains a card number or a security code', () => {
    expect(answers.length).toBeGreaterThan(30)
    const documents = ['GET /openapi.json']
    for (const { request, answer } of answers.filter(({ request }) => !documents.includes(request))) {
      expect(answer.text, request).not.toContain(cardNumber)
      expect(answer.text, request).not.toMatch(/cvv|"number"/i)
    }
  })

  test('the log contains no card number, security code or credential', () => {
    expect(world.logged.length).toBeGreaterThan(30)
    const log = world.logged.join('\n')
    for (const secret of [cardNumber, secrets.agentKey, secrets.apiKey, world.agentKey])
      expect(log).not.toContain(secret)
    expect(log).not.toMatch(/cvv/i)
  })

  test('the database contains no card number, security code or credential', async () => {
    for (const [where, text] of Object.entries(await readStored())) {
      for (const secret of [cardNumber, secrets.agentKey, secrets.apiKey]) {
        expect(text.includes(secret), `${secret} in ${where}`).toBe(false)
      }
    }
    const rows = await readAllRows(world.store)
    for (const row of rows) {
      expect(Object.keys(row).filter((column) => /cvv|cvc|securityCode|number|^pan$/i.test(column))).toEqual([])
      for (const value of Object.values(row)) {
        // Searches for the security code only as a whole JSON string, because an encrypted value may contain its three
        // digits by chance. Entries of the run log may contain the name `cvv`, but only with a masked value.
        const text = typeof value === 'string' ? value.replaceAll(/\\*"cvv\\*":\\*"\[masked\]\\*"/g, '') : ''
        expect(text).not.toMatch(/cvv\\*"|"123"|^123$/i)
      }
    }
  })

  describe('a secret in the wrong place', () => {
    const attributes = { ...card }
    const wrongPlaces: [string, (secret: string) => Promise<Answer>][] = [
      ['the value of an unknown query parameter', (secret) => world.get(`/whoami?access_token=${secret}`)],
      ['a cursor', (secret) => world.get(`/wallets?cursor=${secret}`)],
      ['a limit', (secret) => world.get(`/wallets?limit=${secret}`)],
      ['the name of a query parameter', (secret) => world.get(`/wallets?${secret}=1`)],
      ['an id in the path', (secret) => world.get(`/wallets/${secret}`)],
      ['the whole path', (secret) => world.get(`/${secret}`)],
      ['the value of an unknown attribute', (secret) => world.post('/agent-cards', { ...attributes, apiKey: secret })],
      ['the value of a known attribute', (secret) => world.post('/agent-cards', { ...attributes, currency: secret })],
      ['the name of an attribute', (secret) => world.post('/agent-cards', { ...attributes, [secret]: 1 })],
      [
        'an unknown top-level property',
        (secret) => world.send('POST', '/agent-cards', { body: JSON.stringify({ [secret]: secret }) }),
      ],
      ['the whole body', (secret) => world.send('POST', '/agent-cards', { body: secret })],
      ['a content type', (secret) => world.post('/agent-cards', attributes, { headers: { 'Content-Type': secret } })],
      ['an authorization scheme', (secret) => world.get('/whoami', { headers: { Authorization: secret } })],
      ['an invalid credential', (secret) => world.get('/whoami', { key: `${secret}x` })],
    ]

    test.each(wrongPlaces)('a secret sent as %s is not echoed, logged or stored', async (name, sendWith) => {
      const unique = `misplaced${wrongPlaces.findIndex(([other]) => other === name)}x0123456789abcdef`
      const secret = `ak_ntl_sandbox_${unique}`
      const from = world.logged.length
      const answer = await sendWith(secret)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
      expect(answer.text).not.toContain(unique)
      expect(world.logged.slice(from).join('\n')).not.toContain(unique)
      expect(JSON.stringify(await readAllRows(world.store))).not.toContain(unique)
    })

    test('a card number sent as the value of an attribute is not echoed', async () => {
      const answer = await world.post('/agent-cards', { ...card, currency: '4242 4242 4242 4242', maximumAmount: 5 })
      expect(answer.status).toBe(422)
      expect(answer.text.replaceAll(' ', '')).not.toContain(cardNumber)
    })
  })
})
