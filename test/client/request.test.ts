import { expect, test } from 'vitest'
import { catalogue } from '../../tools/index.ts'
import {
  card,
  cardId,
  cardTransactionId,
  credential,
  customerPartyId,
  issue,
  json,
  keys,
  scriptedClient,
  thrown,
} from './scripted.ts'

const ok = json(200, { data: card })

test('a POST request has its attributes in the `data` envelope, and the required headers', async () => {
  const { client, seen } = scriptedClient([ok])
  const result = await client.operations.issueAgentCard({ ...issue, customerPartyId })
  expect(seen[0]?.url).toBe('https://api.example.test/v1/agent-cards')
  expect(seen[0]?.method).toBe('POST')
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ data: { attributes: { ...issue, customerPartyId } } })
  expect(seen[0]?.headers.get('Authorization')).toBe(`Bearer ${credential}`)
  expect(seen[0]?.headers.get('X-Instance-ID')).toBe('run-1')
  expect(seen[0]?.headers.get('Content-Type')).toBe('application/json')
  expect(result).toEqual({ data: card, meta: undefined, replayed: false, idempotencyKey: keys(seen)[0], attempts: 1 })
  expect(result.idempotencyKey).toMatch(/^idk_[A-Za-z0-9_-]{22}$/)
})

test('each argument is sent where its operation declares it: in the path, the query or the body', async () => {
  const { client, seen } = scriptedClient([ok])
  await client.operations.getAgentCard({ cardId, customerPartyId })
  await client.operations.simulateCardCapture({ cardTransactionId, amount: 5, currency: 'USD', customerPartyId })
  expect(seen[0]?.url).toBe(`https://api.example.test/v1/agent-cards/${cardId}?customerPartyId=${customerPartyId}`)
  expect(seen[0]?.body).toBe('')
  expect(seen[1]?.url).toBe(`https://api.example.test/v1/simulations/card-transactions/${cardTransactionId}/capture`)
  expect(JSON.parse(seen[1]?.body ?? '')).toEqual({
    data: { attributes: { amount: 5, currency: 'USD', customerPartyId } },
  })
})

test('a call that omits all optional attributes sends an empty attributes object', async () => {
  const { client, seen } = scriptedClient([ok])
  await client.operations.simulateCardReversal({ cardTransactionId })
  expect(seen[0]?.body).toBe('{"data":{"attributes":{}}}')
})

test('a read is sent without default values and without an idempotency key', async () => {
  const { client, seen } = scriptedClient([json(200, { data: [], meta: {} })])
  await client.operations.listCustomers({})
  await client.operations.listAgentCards({ limit: 5, cursor: 'cur_a&b' })
  expect(seen[0]?.url).toBe('https://api.example.test/v1/customers')
  expect(seen[1]?.url).toBe('https://api.example.test/v1/agent-cards?limit=5&cursor=cur_a%26b')
  expect(keys(seen)).toEqual([null, null])
  expect(seen[0]?.headers.get('X-Instance-ID')).toBe('run-1')
})

test('two identical calls get different idempotency keys; a key from the caller is sent unchanged', async () => {
  const { client, seen } = scriptedClient([ok])
  await client.operations.issueAgentCard(issue)
  await client.operations.issueAgentCard(issue)
  await client.operations.issueAgentCard(issue, { idempotencyKey: 'mine' })
  const [first, second, third] = keys(seen)
  expect(first).not.toBe(second)
  expect(third).toBe('mine')
})

test('a replayed result is marked as replayed', async () => {
  const { client } = scriptedClient([json(200, { data: card }, { 'X-Idempotency-Replayed': 'true' })])
  expect((await client.operations.issueAgentCard(issue, { idempotencyKey: 'mine' })).replayed).toBe(true)
})

const capture = { cardTransactionId, amount: 5, currency: 'USD' }

test.each([
  [
    'an unknown argument',
    { ...capture, colour: 'red' },
    400,
    { parameter: 'colour' },
    'There is no argument "colour"; simulate_card_capture takes cardTransactionId, amount, currency, customerPartyId.',
  ],
  [
    'an argument with the name of an inherited property',
    { ...capture, toString: 'x' },
    400,
    { parameter: 'toString' },
    'There is no argument "toString"',
  ],
  [
    'a string as an amount',
    { ...capture, amount: '5' },
    422,
    { pointer: '/data/attributes/amount' },
    'amount must be a number of cents, got "5".',
  ],
  [
    'a fractional amount',
    { ...capture, amount: 1.5 },
    422,
    { pointer: '/data/attributes/amount' },
    'amount must be a whole number of cents, got 1.5. If you meant dollars, write 150.',
  ],
  [
    'an amount of zero',
    { ...capture, amount: 0 },
    422,
    { pointer: '/data/attributes/amount' },
    'amount must be more than 0, got 0.',
  ],
  [
    'another currency',
    { ...capture, currency: 'EUR' },
    422,
    { pointer: '/data/attributes/currency' },
    'currency must be "USD", got "EUR".',
  ],
  [
    'a missing amount',
    { cardTransactionId, currency: 'USD' },
    422,
    { pointer: '/data/attributes/amount' },
    'amount is required: a number of cents.',
  ],
  [
    'an id with the wrong prefix',
    { ...capture, cardTransactionId: cardId },
    400,
    { parameter: 'cardTransactionId' },
    'cardTransactionId must be an id that begins with cit_',
  ],
  [
    'a card number as an id',
    { ...capture, cardTransactionId: '4242 4242 4242 4242' },
    400,
    { parameter: 'cardTransactionId' },
    '[masked number]',
  ],
  [
    'a path as an id',
    { ...capture, cardTransactionId: '../../whoami' },
    400,
    { parameter: 'cardTransactionId' },
    'cardTransactionId must be an id that begins with cit_',
  ],
])('%s is refused before anything is sent', async (_, input, status, source, detail) => {
  const { client, seen } = scriptedClient([ok])
  const error = await thrown(client.call(catalogue.simulateCardCapture, input as never))
  expect(error).toMatchObject({ name: 'Failure', code: 'invalid_value', status, source })
  expect((error as Error).message).toContain(detail)
  expect((error as Error).message).not.toContain('4242')
  expect(seen).toEqual([])
})

test('an unknown field inside an attribute is refused, and the error points to it', async () => {
  const { client } = scriptedClient([ok])
  const error = await thrown(
    client.call(catalogue.issueAgentCard, { ...issue, merchant: { name: 'A', mcc: 1 } } as never),
  )
  expect(error).toMatchObject({ status: 400, source: { pointer: '/data/attributes/merchant/mcc' } })
})

test.each([[null], [[]], ['string']])('the input %j is refused, because it is not an object', async (input) => {
  const { client } = scriptedClient([ok])
  expect(await thrown(client.call(catalogue.whoami, input as never))).toMatchObject({ code: 'invalid_value' })
})

test.each(['', ' ', 'line\nbreak', 'ключ', 'k'.repeat(256)])(
  'the idempotency key %j is refused before anything is sent',
  async (idempotencyKey) => {
    const { client, seen } = scriptedClient([ok])
    const error = await thrown(client.operations.issueAgentCard(issue, { idempotencyKey }))
    expect(error).toMatchObject({ code: 'invalid_value', source: { header: 'Idempotency-Key' } })
    expect(seen).toEqual([])
  },
)

test('an instance id that is too long or has a line break is refused when the client is created', () => {
  expect(() => scriptedClient([ok], { instanceId: 'line\nbreak' })).toThrow('instance id')
  expect(() => scriptedClient([ok], { instanceId: 'i'.repeat(1025) })).toThrow('instance id')
})

test('a credential with a line break is refused, and the error does not show it', async () => {
  const { client } = scriptedClient([ok], { credential: () => 'secret\nthing' })
  const error = await thrown(client.operations.whoami({}))
  expect(error).toMatchObject({ code: 'unauthenticated' })
  expect((error as Error).message).not.toContain('secret')
})
