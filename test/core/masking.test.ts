import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskKeptText, mayHoldSecret } from '../../src/core/masking.ts'
import { isSecretName } from '../../src/core/secret-names.ts'
import { harmlessNames, harmlessTexts, secretNames, secretTexts } from '../secrets/samples.ts'

/**
 * The parts from which random texts are built, such as secrets, halves of secrets, harmless texts, field names,
 * separators and ids.
 */
const parts = fc.oneof(
  fc.constantFrom(...[...secretTexts.map(({ text }) => text), ...harmlessTexts]),
  fc.constantFrom(
    ...secretTexts.flatMap(({ text: { length }, text }) => [text.slice(0, length / 2), text.slice(length / 2)]),
  ),
  fc.constantFrom(...secretNames, ...harmlessNames, 'security.code', 'verification / value'),
  fc.constantFrom(
    ...['"', '":"', '": "', '=', ' = ', ': ', ' ', '-', '.', '/', '_', '~1', '\\n', '\u00a0', '\u200b', '٤', '４'],
  ),
  fc.stringMatching(/^\d{1,6}$/),
  fc.stringMatching(/^[a-z]{3}_[0-9a-f]{32}$/),
  fc.constantFrom('2026-11-24T19:39:46.113Z', '"2026-11-24T19:39:46.113Z"'),
  fc.string({ maxLength: 4, unit: 'binary' }),
)
const texts = fc.array(parts, { minLength: 1, maxLength: 8 }).map((some) => some.join(''))

test('masking never changes a text in which mayHoldSecret suspects no secret', () => {
  fc.assert(
    fc.property(texts, (text) => {
      if (!mayHoldSecret(text)) expect(maskKeptText(text)).toBe(text)
    }),
    { numRuns: 3000 },
  )
})

test('mayHoldSecret suspects any JSON with a secret field name, however the words of the name are joined', () => {
  const names = fc
    .array(fc.constantFrom(...secretNames, ...harmlessNames, 'card', 'Code', 'security', 'verification', 'value'), {
      minLength: 1,
      maxLength: 3,
    })
    .chain((words) => fc.constantFrom('', '-', '_', '.', ' ', '2', ' - ').map((between) => words.join(between)))
  fc.assert(
    fc.property(names, (name) => {
      if (isSecretName(name)) expect(mayHoldSecret(JSON.stringify({ [name]: 'x' }))).toBe(true)
    }),
    { numRuns: 3000 },
  )
})

test('mayHoldSecret does not suspect a typical response or path, so these skip the slow masking', () => {
  const id = (prefix: string) => `${prefix}_01a20f12484163424242424242424242`
  const answer = {
    data: {
      type: 'agentCard',
      id: id('pcd'),
      attributes: { maximumAmount: 101, createdAt: '2026-11-24T19:39:46.113Z' },
    },
  }
  expect(mayHoldSecret(JSON.stringify(answer))).toBe(false)
  expect(mayHoldSecret(`/agent-cards/${id('pcd')}/authorize`)).toBe(false)
})
