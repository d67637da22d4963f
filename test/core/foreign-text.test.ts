import { describe, expect, it } from 'vitest'
import { foreignName, foreignText, mixesAlphabets, shortForeignText } from '../../src/core/foreign-text.ts'
import { quoted } from '../../src/mcp/answers/quoted-text.ts'
import { applicationWords } from '../../src/service/pages/frame/application-words.ts'

describe('untrusted text', () => {
  it.each(['Books & Co.', 'Müller', '日本語', 'שלום', 'Ça va?', '€', '👍', 'naïve'])('%s stays unchanged', (text) => {
    expect(foreignText(text)).toBe(text.normalize('NFC'))
  })

  it.each([
    ['two  lines\r\n and\ttabs ', 'two lines and tabs'],
    ['Pay\u202eFriend\u2069', 'Pay\ufffdFriend\ufffd'],
    ['Go\u200bogle\u00ad', 'Go\ufffdogle\ufffd'],
    ['a\u0000\u001b[31m', 'a\ufffd\ufffd[31m'],
    [`e${'\u0301'.repeat(40)}`, 'é\u0301\u0301\u0301'],
    ['❤️ and 👩‍💻', '❤ and 👩💻'],
  ])('%j is shown as %j', (text, shown) => {
    expect(foreignText(text)).toBe(shown)
  })

  it.each([
    '',
    ' \n',
    '\u3164\u2800',
    '\u200b\u200d\ufeff',
    '\u202e\u2066',
    '\u0301\u0301',
    '\u115f\u1160',
    '\u{e0041}',
  ])('%j has no visible characters, so a substitute is shown', (text) => {
    expect(foreignText(text)).toBe('')
    expect(applicationWords({ id: 'ocl_1', name: text }).name).toBe('An application without a name (ocl_1)')
    expect(applicationWords({ id: 'https://app.example/c', name: text }).name).toBe('app.example')
    expect(quoted(text)).toBe('“\ufffd”')
  })

  it('an untrusted text of 10,000 emoji is shortened without splitting an emoji', () => {
    const shown = shortForeignText('👍'.repeat(10_000), 80)
    expect([...shown]).toHaveLength(80)
    expect(shown.endsWith('👍…')).toBe(true)
  })
})

describe('suspicious mixes of alphabets', () => {
  it.each([
    'Pl\u0430in Goods',
    'PayP\u0430l',
    '\u03a1ayPal',
    'Сбербанк Online',
    'ελλάδα Shop',
    '\u13a2nc',
    'ไทย عربي',
    '日本 한국 カフェ',
    'Shop عربي ไทย',
  ])('a suspicious mix of alphabets is found in %j', (text) => {
    expect(mixesAlphabets(text)).toBe(true)
    expect(foreignName(text, 'none')).toBe(`${text} (has letters of several alphabets)`)
    expect(foreignName(foreignName(text, 'none'), 'none')).toBe(foreignName(text, 'none'))
  })

  it.each([
    'Plain Goods',
    'Сбербанк №1, 24/7!',
    'Ελλάδα 2026',
    '東京カフェ Tokyo',
    '한국전력 KEPCO 韓電',
    '台北ㄅㄆ Taipei',
    'مقهى Café',
    'หนังสือ Books',
    'हिन्दी Books',
    'Zoë & Søn’s Ünïçødé',
    'e\u0301clair',
    '10 µm ½ №',
    '🛍️ 42',
    '',
  ])('no suspicious mix of alphabets is found in %j', (text) => {
    expect(mixesAlphabets(text)).toBe(false)
  })
})
