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
  'an error message': maskSecrets,
  'untrusted text': maskForeignText,
  'the run log': maskKeptText,
  'a body in the run log': (text) => json({ note: text }),
  'a string in a rehearsal': maskText,
  'the report of a rehearsal': withoutSecrets,
  'a value in a rehearsal': (text) => JSON.stringify(maskValue({ note: text })),
}

describe.each(Object.entries(maskers))('in %s', (_name, masked) => {
  test.each(secretTexts)('$name is masked', ({ text, secret }) => {
    expect(masked(text)).not.toContain(secret)
    expect(masked(`see ${text}, please`)).not.toContain(secret)
    expect(masked(`see ${text}, please`)).toContain('please')
  })

  test.each(secretNames)('the value assigned to %s is masked', (name) => {
    expect(masked(`see ${name}=q7-value, please`)).not.toContain('q7-value')
  })

  test.each(harmlessTexts)('the harmless string %j is not masked', (text) => {
    expect(masked(text)).toContain(JSON.stringify(text).slice(1, -1))
  })
})

const untrustedTextMaskers = ['untrusted text', 'the run log', 'a body in the run log', 'the report of a rehearsal']
describe.each(untrustedTextMaskers)('in %s', (name) => {
  test.each(disguisedNumbers)('a card number disguised as $name is masked', ({ text, secret }) => {
    const masked = maskers[name]?.(`see ${text}, please`)
    expect(masked).toContain('please')
    expect(masked).not.toContain(secret)
  })
})

/** Long strings. A masker in linear time handles each in a moment; a masker in quadratic time would need hours. */
const longStrings = {
  digits: '7'.repeat(1_000_000),
  'groups of digits': '7123 '.repeat(200_000),
  'single digits and commas': '7,'.repeat(1_000_000),
  'single digits and spaces': '7 '.repeat(1_000_000),
  assignments: 'ab='.repeat(333_333),
  letters: 'k'.repeat(1_000_000),
  'backslashes after a quote': `"${'\\'.repeat(500_000)}`,
  'URL schemes': 'a://'.repeat(250_000),
  'secret names': 'cvv '.repeat(250_000),
  'base64 groups': 'NDI0'.repeat(250_000),
}
const longCases = Object.entries(maskers).flatMap(([name, masked]) =>
  Object.entries(longStrings).map(([kind, text]) => ({ name, kind, masked, text })),
)

// Outside the deep run, tests every seventh pair. These pairs cover each string once and each masker at least once.
test.each(sampleOf(longCases, 7))('the masker of $name handles many $kind in linear time', ({ masked, text }) => {
  expect(masked(text).length).toBeGreaterThan(0)
})

describe('names and values of fields', () => {
  const fields = {
    'the run log': (value: object) => json(value),
    'a rehearsal': (value: object) => JSON.stringify(maskValue(value)),
  }
  describe.each(Object.entries(fields))('in %s', (_name, masked) => {
    test.each(secretNames)('the value of the field %s is masked', (name) => {
      expect(isSecretName(name)).toBe(true)
      expect(masked({ deep: [{ [name]: 'q7-value' }] })).not.toContain('q7-value')
      expect(masked({ [name]: 9183 })).not.toContain('9183')
    })
    test.each(harmlessNames)('the value of the field %s is not masked', (name) => {
      expect(masked({ [name]: 'q7-value' })).toContain('q7-value')
    })
    test.each(secretTexts)('a field name that contains a secret is masked: $name', ({ text, secret }) => {
      expect(masked({ deep: [{ [text]: true }] }).replaceAll('\\', '')).not.toContain(secret)
    })
    test('a field named key is masked, unless it is the key of a tag', () => {
      expect(masked({ tags: [{ key: 'q7-name', value: 'blue' }] })).toContain('q7-name')
      expect(masked({ key: 'q7-value' })).not.toContain('q7-value')
    })
    test.each([[['4242', '4242', '4242', '4242']], [[4242, 4242, 4242, 4242]]])(
      'a card number split across the array items %j is masked',
      (items) => {
        expect(masked({ items })).not.toContain('4242')
        expect(masked({ items: [1000, 2000, 3000] })).toContain('2000')
      },
    )
  })
})
