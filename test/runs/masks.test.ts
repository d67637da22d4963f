import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAllTables } from '../ledger/books.ts'
import { createFlows, type Flows } from '../secrets/flows.ts'
import { databases, onEachDatabase } from '../support/databases.ts'
import { isDeep, tries } from '../support/depth.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { entriesOf, lastEntryOf, runsOf } from './stored-entries.ts'

// test/secrets/secrets.test.ts checks the same tables after more flows.
describe.runIf(isDeep).each(databases)('secrets in answers on $name', (database) => {
  let flows: Flows
  beforeAll(async () => {
    flows = await createFlows(database)
    await flows.callOverRest()
  })
  afterAll(() => flows.close())

  test('entries of runs contain no secret from an answer, even after every operation was called twice', async () => {
    const { world } = flows.on
    await world.service.runLog.flush()
    const storedText = await readRunTables(world)
    expect(flows.canaries.values.size).toBeGreaterThan(15)
    expect(storedText.length).toBeGreaterThan(10_000)
    expect(flows.canaries.hitsIn({ runs: storedText })).toEqual([])
  })
})

const card = '4111111111111111'
const secrets = {
  'a card number': card,
  'a spaced card number': '4111 1111 1111 1111',
  'an API key': 'sk_ntl_sandbox_abcdefghijklmnop',
  'a token': 'Zk9-aB3_xY7qLm2NpRt5UvWc8SdEfGhJ0iKoXzQb4Ta',
  'a signature': '0123456789abcdef'.repeat(4),
  'a JSON Web Token': 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9mLWl0',
  'a webhook secret': 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'a security code': 'cvv: 987',
}

onEachDatabase('secrets in requests', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('a card number is masked in every field, and other secrets are masked however the name of their field is spelled', async () => {
    const named = { account_number: 'a-7714', 'card-number': 'c-7714', Access_Token: 't-7714', PAN: 'p-7714' }
    const answers = [
      await world.post('/agent-cards', { nextCursor: card, metadata: { ...named, nextCursor: card } }),
      await world.get(`/agent-cards?cursor=${card}`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([400, 400])
    await world.service.runLog.flush()
    const storedText = await readRunTables(world)
    expect(storedText).toContain('nextCursor')
    expect(storedText).not.toContain(card)
    expect(storedText).not.toContain('7714')
  })

  test.each(['cvv', 'Password', 'otp', 'card_number', 'access-token'])(
    'the query parameter %s is stored without its value',
    async (name) => {
      const instanceId = `a query named ${name}`
      expect((await world.get(`/agent-cards?${name}=7714&limit=5`, { instanceId })).status).toBe(400)
      const { detail } = await lastEntryOf(world, instanceId)
      expect(detail.path).toContain(`${name}=%5Bmasked%5D`)
      expect(detail.path).toContain('limit=5')
      expect(detail.path).not.toContain('7714')
    },
  )

  test.each(Object.entries(secrets))('%s anywhere in a request is not stored', async (_what, secret) => {
    const url = encodeURIComponent(secret)
    const instanceId = `with ${secret} in it`
    const sent = { instanceId, headers: { 'User-Agent': `payments-mcp/1 (${url}/${url})` } }
    const answers = [
      await world.post('/agent-cards', { maximumAmount: 100, merchant: { name: secret }, [secret]: 1 }, sent),
      await world.post('/agent-cards', { nested: [{ deep: { text: `see ${secret}.` } }], number: secret }, sent),
      await world.get(`/agent-cards/${url}?q=${url}&${url}=1`, sent),
      await world.send('POST', '/agent-cards', { ...sent, body: `{"merchant": "${secret}"` }),
      await world.send('POST', '/agent-cards', { ...sent, body: `${'x'.repeat(16_380)}${secret}` }),
      await world.post('/agent-cards', { text: `${'x '.repeat(8_170)}${secret}` }, sent),
      await world.post(
        '/agent-cards',
        { text: escapeAll(secret) },
        { ...sent, body: `{"text": "${escapeAll(secret)}"}` },
      ),
    ]
    expect(answers.every(({ status }) => status >= 400)).toBe(true)
    await world.service.runLog.flush()
    const storedText = (await readRunTables(world)).replaceAll('\\', '')
    expect(storedText).toContain('masked')
    expect(storedText).not.toContain(secret)
    expect(decodeURIComponent(storedText.replace(/%(?![0-9a-f]{2})/gi, ''))).not.toContain(secret)
    expect(storedText).not.toContain(secret.replaceAll(/\D/g, '').length === 16 ? '411111111111' : secret)
    expect(await runsOf(world)).toContainEqual(expect.objectContaining({ calls: answers.length }))
    await world.store.transaction(async ({ db }) => {
      await db.deleteFrom('runs').execute()
      await db.deleteFrom('runEntries').execute()
    })
  })

  test('a card number is not stored, no matter what script, separators and surrounding text it has', async () => {
    const property = fc.asyncProperty(
      disguisedNumbers,
      fc.constantFrom(...surroundings),
      async ({ text, digits }, [before, after]) => {
        const instanceId = 'disguised'
        const quoted = `${before}${text}${after}`
        const answers = [
          await world.post(
            '/agent-cards',
            { maximumAmount: 100, merchant: { name: quoted }, [quoted]: 1 },
            { instanceId },
          ),
          await world.get(`/agent-cards?q=${encodeURIComponent(quoted)}`, { instanceId }),
        ]
        expect(answers.map(({ status }) => status)).toEqual([400, 400])
        const storedText = JSON.stringify((await entriesOf(world, instanceId)).slice(-2))
        expect(storedText).toContain('masked')
        expect(plainDigits(decodeURIComponent(storedText.replace(/%(?![0-9a-f]{2})/gi, '')))).not.toContain(digits)
      },
    )
    await fc.assert(property, { numRuns: tries(60) })
  })

  test('a card number that an answer quotes is not stored, even with invisible characters in it', async () => {
    const instanceId = 'quoted'
    const text = '4242\u202e4242\u202e4242\u202e4242'
    expect((await world.get(`/agent-cards?limit=${encodeURIComponent(text)}`, { instanceId })).status).toBe(400)
    const { detail } = await lastEntryOf(world, instanceId)
    expect(detail.answer).toContain('masked number')
    expect(JSON.stringify(detail)).not.toContain('4242')
  })

  test.each([
    '4111/1111/1111/1112',
    '1111 2222/3333',
    '٤١١١ ١١١١ ١١١١ ١١١٢',
    'txn_41111111111111114111111111111111',
    `${card}a1${card}`.slice(0, 32),
    '2026-11-03/2026-11-29 10:11:12.123',
    '$1,234,567,890,123.00',
    '550e8400-e29b-41d4-a716-446655440000',
  ])('%s is stored unchanged, because it is not a card number', async (text) => {
    const instanceId = 'no card'
    const cardAnswer = await world.post('/agent-cards', { merchant: { name: text }, memo: 'none' }, { instanceId })
    expect(cardAnswer.status).toBe(400)
    const { body } = (await lastEntryOf(world, instanceId)).detail
    expect(JSON.parse(String(body)).data.attributes.merchant.name).toBe(text)
  })

  test('a card number and its security code are masked both when they are read and when a shop is paid', async () => {
    const instanceId = 'at a shop'
    const cardId = await world.issueCard({ merchant: { name: 'Cometa Books' } }, { instanceId })
    const { number, cvv } = (await world.get(`/agent-cards/${cardId}/details`, { instanceId })).json.data.attributes
    const details = await lastEntryOf(world, instanceId)
    expect(JSON.parse(String(details.detail.answer)).data.attributes).toMatchObject({
      number: '[masked]',
      cvv: '[masked]',
    })
    const typed = { number, cvv, expirationMonth: 1, expirationYear: 2030, amount: 10 }
    const nowhere = '/simulations/shop-checkouts/sco_00000000000000000000000000000000/pay'
    expect((await world.post(nowhere, typed, { instanceId })).status).toBe(404)
    const { body } = (await lastEntryOf(world, instanceId)).detail
    expect(JSON.parse(String(body)).data.attributes).toEqual({ ...typed, number: '[masked]', cvv: '[masked]' })
  })

  test('the URL of a webhook is stored, but its signing secret is not', async () => {
    const instanceId = 'listening'
    const url = 'https://hooks.example.com/payments'
    const sent = { instanceId, key: world.apiKey }
    const { signingSecret } =
      (await world.post('/webhooks', { url, enabledEvents: ['*'] }, sent)).json.data?.attributes ?? {}
    const { answer } = (await lastEntryOf(world, instanceId)).detail
    expect(answer).toContain(url)
    expect(signingSecret).toBeDefined()
    expect(answer).not.toContain(signingSecret)
  })
})

onEachDatabase('entries of hostile requests', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test.each<[string, string]>([
    ['a body that is not JSON', 'not JSON \u0000 \ud800'],
    ['an escaped NUL and a lone surrogate', '{"data":{"attributes":{"a":"\\u0000 \\ud800","\\u0000":1}}}'],
    ['deep nesting', '['.repeat(30_000)],
    ['the deepest nesting that is read', `${'{"a":'.repeat(31)}"4111111111111111"${'}'.repeat(31)}`],
    ['one long string', JSON.stringify({ data: { attributes: { description: 'long '.repeat(200_000) } } })],
    ['many array items', JSON.stringify({ data: Array.from({ length: 50_000 }, (_, at) => ({ number: at })) })],
    [
      'many property names',
      JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`key${at}`, 'cvv']))),
    ],
    ['the property __proto__', '{"data":{"attributes":{"__proto__":{"cvv":"123"},"constructor":"\\\\"}}}'],
  ])('the entry of a request with %s has a limited length and no card number', async (name, body) => {
    expect((await world.send('POST', '/agent-cards', { instanceId: name, body })).status).toBeGreaterThanOrEqual(400)
    const { detail } = await lastEntryOf(world, name)
    expect((detail.body ?? '').length).toBeLessThanOrEqual(16_384)
    const whole = (detail.body ?? '').length + (detail.bodyCut ?? 0)
    if (detail.bodyCut !== undefined) expect(whole).toBeGreaterThanOrEqual(Math.min(body.length, 16_385))
    expect(JSON.stringify(detail)).not.toContain(card)
  })

  test('the entry of a long answer contains its beginning and the number of omitted characters', async () => {
    for (let count = 0; count < 30; count++) await world.issueCard({}, { instanceId: 'many' })
    const { text } = await world.get('/agent-cards?limit=100', { instanceId: 'listing' })
    expect(text.length).toBeGreaterThan(16_384)
    const { answer, cut } = (await lastEntryOf(world, 'listing')).detail
    expect(answer).toHaveLength(16_384)
    expect(cut).toBe(text.length - 16_384)
    expect(text.startsWith(String(answer))).toBe(true)
  })

  test("a request adds no entry to another party's run with the same instance id", async () => {
    const stranger = await addParty(world)
    const cardId = await world.issueCard({}, { instanceId: 'mine' })
    const before = await entriesOf(world, 'mine')
    const sent = { key: stranger.agentKey, instanceId: 'mine' }
    expect((await world.get(`/agent-cards/${cardId}`, sent)).status).toBe(404)
    expect(await entriesOf(world, 'mine')).toEqual(before)
    const [theirs, ...others] = await entriesOf(world, 'mine', stranger.partyId)
    expect(others).toEqual([])
    expect(theirs).toMatchObject({ partyId: stranger.partyId, agentId: stranger.agentId, status: 404 })
    expect((await runsOf(world, stranger.partyId)).map(({ instanceId }) => instanceId)).toEqual(['mine'])
  })
})

/** Text before and after a card number. */
const surroundings = [
  ['', ''],
  ['see ', '.'],
  ['(', ')'],
  ['1: ', ' 12/27 123'],
  ['card/', '/'],
  ['Shop', 'x'],
  ['pan_', '_1'],
] as const
/** The digit zero in several scripts: ASCII, full width, Arabic-Indic, Devanagari, mathematical bold. */
const zeros = [0x30, 0xff10, 0x660, 0x966, 0x1d7ce] as const
const separators = [
  '',
  '\u200b',
  '\u200d',
  '\u2060',
  '\u00ad',
  '\ufe0f',
  '/',
  ' / ',
  '|',
  '\\',
  '·',
  '–',
  '\u2003',
  '\n',
  '\t',
  '\u202e',
  '\u0085',
] as const

/** Generates card numbers with a valid check digit. The script of each digit and the separators are random. */
const disguisedNumbers = fc
  .tuple(
    fc.integer({ min: 12, max: 18 }).chain((length) => fc.array(fc.nat(9), { minLength: length, maxLength: length })),
    fc.array(fc.constantFrom(...zeros), { minLength: 19, maxLength: 19 }),
    fc.array(fc.constantFrom(...separators), { minLength: 19, maxLength: 19 }),
  )
  // Excludes numbers with few different digits, because an id or timestamp may contain such a number by chance.
  .filter(([most]) => most[0] !== 0 && new Set(most).size > 5)
  .map(([most, scripts, marks]) => {
    const all = [...most, checkDigit(most)]
    const written = all.map((digit, at) => String.fromCodePoint((scripts[at] ?? 0x30) + digit))
    const text = written.map((digit, at) => (at === all.length - 1 ? digit : digit + marks[at])).join('')
    return { text, digits: all.join('') }
  })

function checkDigit(digits: readonly number[]): number {
  const doubled = digits.toReversed().map((digit, at) => (at % 2 === 0 ? 2 * digit : digit))
  const sum = doubled.reduce((total, digit) => total + Math.floor(digit / 10) + (digit % 10), 0)
  return (10 - (sum % 10)) % 10
}

/** Returns all digits of a string as ASCII digits, without the characters between them. */
function plainDigits(text: string): string {
  const digits = text.match(/\p{Nd}/gu) ?? []
  return digits
    .map((digit) => {
      const code = digit.codePointAt(0) ?? 0
      return code - (zeros.findLast((zero) => zero <= code && code <= zero + 9) ?? code)
    })
    .join('')
}

async function readRunTables({ store }: World): Promise<string> {
  const tables = await readAllTables(store)
  return JSON.stringify([tables.get('runs'), tables.get('runEntries')])
}

/** Escapes all characters, even those that need no escape. JSON permits this. */
function escapeAll(text: string): string {
  return [...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}
