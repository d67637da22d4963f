import { describe, expect, it } from 'vitest'
import { digitValue, withoutCardNumbers } from '../../src/core/card-numbers.ts'

const number = '4242424242424242'

describe('card numbers in a text', () => {
  it.each([
    [`Shop ${number}`, 'Shop [masked number]'],
    [`Shop${number}x`, 'Shop[masked number]x'],
    ['pan_4242\u200b424242424242', 'pan_[masked number]'],
    [`+${number}`, '+[masked number]'],
    ['+4242 4242 4242 4242', '+[masked number]'],
    ['+4242-4242-4242 / 4242', '+[masked number]'],
    ['+4242 4242 4242\u200b4242', '+[masked number]'],
  ])('%j is masked as %j', (text, masked) => {
    expect(withoutCardNumbers(text)).toBe(masked)
  })

  it.each([
    ['a number with a wrong check digit', 'Order 4242424242424243'],
    ['a hash', `a${number}b`.padEnd(64, '0c')],
    ['an id', `txn_${number}${number}`],
    ['an id without a prefix', `${number}a${number}`.slice(0, 32)],
    ['a UUID', '42424242-4242-4242-4242-424242424242'],
    ['a telephone number', '+49 1512 3456 7890 1'],
    ['a telephone number with an area code', '+1 (378) 282-246-3100'],
    ['a timestamp', '2026-11-23T10:59:03.123Z'],
  ])('%s is not masked', (_kind, text) => {
    expect(withoutCardNumbers(text)).toBe(text)
  })
})

it('digitValue returns the value of every decimal digit in Unicode', () => {
  const digits: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    if (/\p{Nd}/u.test(character)) digits.push(character)
  }
  expect(digits.length).toBeGreaterThan(500)
  // The decimal digits of Unicode form groups of ten consecutive code points, in ascending order from 0 to 9.
  expect(digits.map(digitValue)).toEqual(digits.map((_, index) => index % 10))
})
