import { readdirSync, readFileSync } from 'node:fs'
import Ajv from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { parseText } from '../../src/worlds/parse-text.ts'
import { worldTemplate } from '../../src/worlds/template.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const ajv = new Ajv.default({ allErrors: true, allowUnionTypes: true })
addFormats.default(ajv)
const [isWorld, isScenarios] = ['world', 'scenarios'].map((name) =>
  ajv.compile(JSON.parse(read(`schemas/${name}.schema.json`))),
)

/** Returns the mistakes that an editor marks in a file if it knows the JSON schema of the file. */
function mistakesIn(check: typeof isWorld, value: unknown): string[] {
  if (check === undefined || check(value)) return []
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

const inYaml = (text: string) => parseText(text).value

const scenarioFiles = readdirSync(new URL('../../src/rehearse/scenarios/', import.meta.url))

test.each([
  ["the package's own world", read('worlds/sandbox.yaml')],
  ['the world that init writes', worldTemplate('world.yaml')],
  ['the world that init writes, with all of its examples', worldTemplate('world.yaml', true)],
])('an editor finds no mistake in %s', (_, text) => {
  expect(mistakesIn(isWorld, inYaml(text))).toEqual([])
})

test.each(scenarioFiles)("an editor finds no mistake in the package's scenario file %s", (name) => {
  expect(mistakesIn(isScenarios, inYaml(read(`src/rehearse/scenarios/${name}`)))).toEqual([])
})

test.each([
  ['an unknown field', 'parties: { acme: { wallet: {} } }', '/parties/acme must NOT have additional'],
  [
    'a string instead of cents',
    'parties: { acme: { wallets: { main: { balance: much } } } }',
    '/wallets/main/balance must',
  ],
  [
    'a string instead of cents in a list of parties',
    'parties: [{ ref: acme, wallets: [{ balance: much }] }]',
    '/parties/0/wallets/0/balance must',
  ],
  ['the lack of parties', 'name: Empty', "must have required property 'parties'"],
])('an editor marks %s in a world', (_, text, mistake) => {
  expect(mistakesIn(isWorld, inYaml(text)).join('\n')).toContain(mistake)
})

const scenario = { task: 'Buy it.', title: 'One', world: { parties: { acme: {} } } }

test.each([
  ['an unknown measure', { expect: [{ what: 'luck', exactly: 1 }] }, '/one/expect/0/what must'],
  ['a string instead of a number', { expect: [{ what: 'purchases', exactly: 'many' }] }, '/one/expect/0/exactly must'],
  ['the lack of a task', { task: undefined }, "/one must have required property 'task'"],
])('an editor marks %s in a scenario', (_, change, mistake) => {
  const one = JSON.parse(JSON.stringify({ ...scenario, ...change }))
  expect(mistakesIn(isScenarios, { one }).join('\n')).toContain(mistake)
})

test('an editor accepts a name in braces, which stands for a randomly drawn value, in place of a number', () => {
  const expected = [{ what: 'purchases', exactly: '{count}' }]
  expect(mistakesIn(isScenarios, { one: { ...scenario, expect: expected } })).toEqual([])
})
