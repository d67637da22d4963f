import { describe, expect, it } from 'vitest'
import { maskText, maskValue, secretsIn } from '../../src/rehearse/mask.ts'

const key = `ak_ntl_sandbox_${'a1B2-_'.repeat(7)}`
const token = `eyJ${'hbGciOi'.repeat(3)}.${'x'.repeat(20)}.${'y'.repeat(20)}`

describe('secrets in strings', () => {
  it.each([
    ['4242424242424242', 'card number', '[masked card number]'],
    ['4242 4242 4242 4242', 'card number', '[masked card number]'],
    ['4242-4242-4242-4242', 'card number', '[masked card number]'],
    ['4242.4242.4242.4242', 'card number', '[masked card number]'],
    ['378282246310005', 'card number', '[masked card number]'],
    ['CVV: 123', 'security code', 'CVV: [masked code]'],
    ['cvc 1234', 'security code', 'cvc [masked code]'],
    ['security code is 123', 'security code', 'security code is [masked code]'],
    ['"cvv":"123"', 'security code', '"cvv":"[masked code]"'],
    [key, 'key', 'ak_ntl_sandbox_[masked]'],
    [token, 'token', '[masked token]'],
    [`/shops/checkouts/${'t'.repeat(40)}`, 'token', '/shops/checkouts/[masked]'],
  ])('the string %s is masked as a %s', (secret, kind, masked) => {
    expect(secretsIn(`It is ${secret}, here.`)).toEqual([kind])
    expect(maskText(`It is ${secret}, here.`)).toBe(`It is ${masked}, here.`)
  })

  it.each([
    '4242 4242 4242 4242 12/30 123',
    '4242424242424242 123',
    '1: 4242 4242 4242 4242',
    'card4242424242424242',
    '4242  4242\n4242 – 4242',
    '4242/4242/4242/4242',
    '4242_4242_4242_4242',
    '**4242** 4242 4242 4242',
    '٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢',
    '４２４２４２４２４２４２４２４２',
  ])('the card number in %s is masked', (answer) => {
    expect(secretsIn(`It is ${answer}, here.`)).toContain('card number')
    expect(maskText(`It is ${answer}, here.`)).toMatch(/^It is .*\[masked card number\], here\.$/)
  })

  it.each([
    '4242424242424241',
    '2026-03-02 09:00:01, $69.00, $22.00 and $36.00, 6 to 8 days',
    '1700000000000',
    'pcd_0198a1b2c3d40123456789abcdef0123',
    '2026-03-02T09:00:00.000Z',
    '+14155550123',
    '$1,234.50',
    'the security code of 12 letters',
    'Bearer <API key>',
    'a key: ak_ntl_',
    '/shops/plain-goods',
    '0000000000000000',
  ])('the string %s is not masked', (text) => {
    expect(secretsIn(text)).toEqual([])
    expect(maskText(text)).toBe(text)
  })
})

it('secret fields are masked by their names, and secrets in other fields are masked too', () => {
  const card = { number: '4242424242424242', cvv: '123', expirationYear: 2030 }
  expect(maskValue({ card, items: [{ note: `my key is ${key}`, quantity: 2 }], password: 'x', empty: null })).toEqual({
    card: { number: '[masked card number]', cvv: '[masked code]', expirationYear: 2030 },
    items: [{ note: 'my key is ak_ntl_sandbox_[masked]', quantity: 2 }],
    password: '[masked]',
    empty: null,
  })
})
