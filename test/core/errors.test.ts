import { expect, test } from 'vitest'
import { errorTable, show } from '../../src/core/errors.ts'
import { maskForeignText, maskSecrets } from '../../src/core/masking.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

test('masking changes no text in the error table', () => {
  for (const { detail, next } of Object.values(errorTable)) {
    expect(maskSecrets(detail)).toBe(detail)
    expect(maskSecrets(next)).toBe(next)
  }
})

test('credentials and card numbers in a text are masked, but shorter numbers such as amounts are not', () => {
  expect(maskSecrets('Bearer abc.def and ak_ntl_sandbox_0123 and 4242-4242-4242-4242')).toBe(
    'Bearer [masked] and ak_ntl_sandbox_[masked] and [masked number]',
  )
  expect(show(4_242_424_242_424_242)).toBe('[masked number]')
  expect(show(123_456_789_012)).toBe('123456789012')
})

test('digits of an id in a link are not masked, but a card number directly after a letter is', () => {
  const link = 'http://127.0.0.1:4010/verify/mfc_019bc1c01e40a294ba5b8ff6af1ab134_f1e4242424242424242b0aab314c1f5f19f3'
  expect(maskSecrets(`Verify here: ${link}`)).toBe(`Verify here: ${link}`)
  expect(maskForeignText('Shop4242424242424242')).toBe('Shop[masked number]')
})

test('an error message shows a value on one line, with invisible characters escaped', () => {
  expect(show('a\n\u007f\u0085\u009b31m\u2028\u202ez é 😀')).toBe('"a\\n\\u007f\\u0085\\u009b31m\\u2028\\u202ez é 😀"')
})

test("the service's error messages reach the caller unmasked", async () => {
  const world = await createWorld(sqlite)
  const withoutCredential = await world.service.fetch(new Request('http://sandbox.test/whoami'))
  const { errors } = (await withoutCredential.json()) as { errors: { detail: string }[] }
  expect(errors[0]?.detail).toBe(errorTable.unauthenticated.detail)
  const amount = 98_765_432
  const payment = { amount, counterparty: { type: 'email', value: 'bo@example.com' } }
  const refused = (await world.post('/payments', payment)).json.errors[0]
  expect(refused.detail).toContain(`250000 ($2,500.00) available, but ${amount} ($987,654.32) is needed`)
  expect(refused).toMatchObject({ source: { pointer: '/data/attributes/amount' }, meta: { maximum: 250_000 } })
  await world.drop()
})
