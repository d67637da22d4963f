import { describe, expect, test } from 'vitest'
import { maskForeignText, maskKeptText, maskSecrets } from '../../src/core/masking.ts'
import { isSecretName } from '../../src/core/secret-names.ts'
import { maskText, maskValue } from '../../src/rehearse/mask.ts'
import { withoutSecrets } from '../../src/rehearse/report-text.ts'
import { maskJson } from '../../src/service/request/body-masking.ts'
import { sampleOf } from '../support/depth.ts'
import { disguisedNumbers, harmlessNames, harmlessTexts, secretNames, secretTexts } from './samples.ts'

const json = (value: unknown) => maskJson(JSON.stringify(value), [], () => value).text

const maskers: Record<string, (text: string) => string> = {
  'an error': maskSecrets,
  'a foreign text': maskForeignText,
  'the run log': maskKeptText,
  'a body in the run log': (text) => json({ note: text }),
  'a rehearsal': maskText,
  'the report of a rehearsal': withoutSecrets,
  'a value of a rehearsal': (text) => JSON.stringify(maskValue({ note: text })),
}

describe.each(Object.entries(maskers))('%s', (_name, masked) => {
  test.each(secretTexts)('masks $name', ({ text, secret }) => {
    expect(masked(text)).not.toContain(secret)
    expect(masked(`see ${text}, please`)).not.toContain(secret)
    expect(masked(`see ${text}, please`)).toContain('please')
  })

  test.each(secretNames)('masks the value of %s in a text', (name) => {
    expect(masked(`see ${name}=q7-value, please`)).not.toContain('q7-value')
  })

  test.each(harmlessTexts)('keeps %s', (text) => {
    expect(masked(text)).toContain(JSON.stringify(text).slice(1, -1))
  })
})

const ofStrangers = ['a foreign text', 'the run log', 'a body in the run log', 'the report of a rehearsal']
describe.each(ofStrangers)('%s', (name) => {
  test.each(disguisedNumbers)('masks a card number disguised as $name', ({ text, secret }) => {
    const masked = maskers[name]?.(`see ${text}, please`)
    expect(masked).toContain('please')
    expect(masked).not.toContain(secret)
  })
})

/** Long texts. A masker in linear time takes moments; one in quadratic time would take hours. */
const long = {
  digits: '7'.repeat(1_000_000),
  groups: '7123 '.repeat(200_000),
  'single digits and commas': '7,'.repeat(1_000_000),
  'single digits and spaces': '7 '.repeat(1_000_000),
  assignments: 'ab='.repeat(333_333),
  letters: 'k'.repeat(1_000_000),
  quotes: `"${'\\'.repeat(500_000)}`,
  schemes: 'a://'.repeat(250_000),
  names: 'cvv '.repeat(250_000),
  base64: 'NDI0'.repeat(250_000),
}
const longFor = Object.entries(maskers).flatMap(([name, masked]) =>
  Object.entries(long).map(([kind, text]) => ({ name, kind, masked, text })),
)

// Every seventh pair is tested, which covers each of the ten texts once and each of the seven maskers at least once.
test.each(sampleOf(longFor, 7))('$name handles a million $kind in linear time', ({ masked, text }) => {
  expect(masked(text).length).toBeGreaterThan(0)
})

describe('fields', () => {
  const fields = {
    'the run log': (value: object) => json(value),
    'a rehearsal': (value: object) => JSON.stringify(maskValue(value)),
  }
  describe.each(Object.entries(fields))('in %s', (_name, masked) => {
    test.each(secretNames)('%s is masked', (name) => {
      expect(isSecretName(name)).toBe(true)
      expect(masked({ deep: [{ [name]: 'q7-value' }] })).not.toContain('q7-value')
      expect(masked({ [name]: 9183 })).not.toContain('9183')
    })
    test.each(harmlessNames)('%s is kept', (name) => {
      expect(masked({ [name]: 'q7-value' })).toContain('q7-value')
    })
    test.each(secretTexts)('a field name is masked if it is $name', ({ text, secret }) => {
      expect(masked({ deep: [{ [text]: true }] }).replaceAll('\\', '')).not.toContain(secret)
    })
    test('the key of a note is kept, a field named key is not', () => {
      expect(masked({ tags: [{ key: 'q7-name', value: 'blue' }] })).toContain('q7-name')
      expect(masked({ key: 'q7-value' })).not.toContain('q7-value')
    })
    test.each([[['4242', '4242', '4242', '4242']], [[4242, 4242, 4242, 4242]]])(
      'groups as items are masked',
      (items) => {
        expect(masked({ items })).not.toContain('4242')
        expect(masked({ items: [1000, 2000, 3000] })).toContain('2000')
      },
    )
  })
})
