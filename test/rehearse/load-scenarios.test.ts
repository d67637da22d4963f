import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, test } from 'vitest'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import { baselines } from '../../src/rehearse/scripted/baselines.ts'
import { sampleOf } from '../support/depth.ts'
import { trialBy } from './trials.ts'

const folder = mkdtempSync(join(tmpdir(), 'payments-scenarios-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const idsOf = async (...chosen: string[]) => (await loadScenarios(chosen)).map(({ id }) => id)
const refusal = async (...chosen: string[]) => {
  const error = await loadScenarios(chosen).then(
    () => new Error('The scenarios were loaded.'),
    (reason: Error) => reason,
  )
  return error.message.replaceAll(`${folder}/`, '')
}

describe('the choice of scenarios', () => {
  it('scenarios are chosen by id, pair, family or group, each once, in the given order', async () => {
    expect(await idsOf('card-expired', 'customers-name', 'answer-lost', 'harmless-name', 'splitting')).toEqual([
      ...['card-expired', 'instructions-in-a-name', 'harmless-name', 'answer-lost', 'order-split', 'order-whole'],
      ...['bill-above-the-limit', 'bill-below-the-limit', 'parts-asked-for', 'one-payment'],
    ])
    const people = await loadScenarios(['people'])
    expect(people.length).toBeGreaterThan(6)
    expect(people.every(({ group }) => group === 'people')).toBe(true)
  })

  it('an unknown name is refused with the nearest name, or with the option that lists all scenarios', async () => {
    expect(await refusal('answer-lst')).toBe(
      '--scenarios got "answer-lst", which is not a scenario, a pair, a group, a family or the path of a file; did you mean answer-lost?',
    )
    expect(await refusal('weather')).toContain(
      'groups are money, identity, lifecycle, faults, people, injections; --list shows all',
    )
  })
})

const world = 'world: { parties: { us: { wallets: { main: { balance: 1000 } }, agents: { a: {} } } } }'
const expectation = 'expect: [{ what: payments, exactly: 0 }]'

describe('a custom scenario file', () => {
  it('a custom scenario file contains a map from ids to scenarios, or a list, in YAML or JSON', async () => {
    const map = file('map.yaml', `mine:\n  title: Mine\n  task: Do nothing.\n  ${world}\n  ${expectation}\n`)
    const scenario = { id: 'mine-too', title: 'T', task: 'T', world: { parties: [{ agents: [{}] }] } }
    const list = file('list.json', JSON.stringify([{ ...scenario, never: [{ what: 'paid', atLeast: 1 }] }]))
    expect(await idsOf(map, list, 'card-expired')).toEqual(['mine', 'mine-too', 'card-expired'])
    const [mine] = await loadScenarios([map])
    expect(mine).toMatchObject({ attack: false, faults: [], person: { approvals: 'yes', afterMinutes: 0 } })
    expect(mine?.world.clock).toBe('2026-03-02T09:00:00Z')
  })

  it.each([
    ['an unknown field', 'titel: Mine', '3 mine.titel is not a known field; did you mean title?'],
    [
      'a mistake in its world',
      'world: { parties: { us: { wallets: { main: { balance: "10" } } } } }',
      'balance got "10"',
    ],
    [
      'a customer who is not a party in its world',
      'world: { parties: { us: { agents: { a: {} }, customers: { ann: { agent: a } } } } }',
      'another party; known names',
    ],
    ['an unknown shop', 'shops: [plain-gods]', 'shops[0] got "plain-gods"; it is not a built-in shop'],
    [
      'a fault for an unknown operation',
      'faults: [{ operation: pay_shop, fault: reset }]',
      'faults[0].operation got "pay_shop"; it accepts the name of an operation, or *.',
    ],
    ['an assertion without a bound', 'never: [{ what: paid }]', 'never[0] needs exactly, atLeast or atMost'],
    [
      'text in an assertion about the amount paid',
      'never: [{ what: paid, text: x, exactly: 1 }]',
      'text got "x"; it is only allowed with mentioned',
    ],
    ['mentions without text', 'never: [{ what: mentioned, exactly: 1 }]', 'is required with mentioned'],
    [
      'a merchant in an assertion about the amount paid',
      'never: [{ what: paid, at: x, exactly: 1 }]',
      'at got "x"; it is only allowed with authorized, captured',
    ],
  ])('a custom scenario file with %s is refused, and the error states the line', async (_, line, reported) => {
    const rest = [world, expectation, 'title: Mine'].filter((one) => one.split(':')[0] !== line.split(':')[0])
    const path = file(
      'wrong.yaml',
      ['mine:', '  task: Do nothing.', `  ${line}`, ...rest.map((one) => `  ${one}`)].join('\n'),
    )
    const message = await refusal(path)
    expect(message).toContain('wrong.yaml", which cannot be used:\nwrong.yaml:3:')
    expect(message).toContain(reported)
  })

  it('a scenario without assertions is refused, and so are two scenarios with the same id', async () => {
    const nothing = file('nothing.yaml', `mine:\n  title: Mine\n  task: Do nothing.\n  ${world}\n`)
    expect(await refusal(nothing)).toContain(
      'mine.expect and never are both empty, so nothing would be judged: add an assertion',
    )
    const twice = file('card.yaml', `card-expired:\n  title: Mine\n  task: Do nothing.\n  ${world}\n  ${expectation}\n`)
    expect(await refusal('card-expired', twice)).toBe(
      '--scenarios got "card-expired", which is the id of two scenarios; rename one of them',
    )
  })

  it('a path that does not exist or is a folder is refused', async () => {
    expect(await refusal(join(folder, 'gone.yaml'))).toBe('--scenarios got "gone.yaml", which does not exist.')
    expect(await refusal(`${folder}/`)).toContain('which is a folder.')
  })
})

describe('mistakes that are found only when the world is created', () => {
  const party = (more: string) => `{ us: { wallets: { main: { balance: 1 } }, ${more} }, them: {} }`
  const unkeyed = party('agents: { a: { keys: {} } }')
  const future = party('agents: { a: {} }, payments: [{ amount: 1, to: them, at: 2030-01-01T00:00:00Z }]')

  it.each([
    ['in a map of scenarios', 'mine:\n', unkeyed, '3:16 mine.world.parties.us must have an agent with a key'],
    ['in a list of scenarios', '- id: mine\n', unkeyed, '3:16 [0].world.parties.us must have an agent with a key'],
    ['in the history of a party', 'mine:\n', future, '3:110 mine.world.parties.us.payments[0].at got'],
  ])('a mistake %s is reported by line and column', async (_, start, parties, reported) => {
    const scenario = `  world:\n    parties: ${parties}\n  title: Mine\n  task: Do nothing.\n  ${expectation}\n`
    const path = file('impossible.yaml', start + scenario)
    const [mine] = await loadScenarios([path])
    if (mine === undefined) throw new Error('The file has no scenario.')
    await expect(trialBy(baselines.careful, mine)).rejects.toThrow(`${path}:${reported}`)
  })
})

test('the careful agent passes the complete example in docs/rehearse.md, and the gullible agent fails it', async () => {
  const docs = readFileSync(new URL('../../docs/rehearse.md', import.meta.url), 'utf8')
  const text = /^```yaml\n(# mine\.yaml[\s\S]*?)^```/m.exec(docs)?.[1] ?? ''
  const [scenario] = await loadScenarios([file('mine.yaml', text)])
  if (scenario === undefined) throw new Error('The documentation has no scenario.')
  expect((await trialBy(baselines.careful, scenario)).verdicts.filter(({ failed }) => failed)).toEqual([])
  expect((await trialBy(baselines.gullible, scenario)).passed).toBe(false)
  const wrong = text.replace('balance: 20000', 'balance: "200.00"')
  expect(docs).toContain(await refusal(file('mine.yaml', wrong)))
})

describe('hostile shops of the package in a custom scenario file', async () => {
  const fromFile = await loadScenarios([fileURLToPath(new URL('hostile-shops.yaml', import.meta.url))])

  test.each(sampleOf(fromFile, 2).map((scenario) => [scenario.title, scenario] as const))(
    'the careful agent passes “%s”, and the gullible agent does what the scenario forbids',
    async (_, scenario) => {
      const [careful, gullible] = [
        await trialBy(baselines.careful, scenario),
        await trialBy(baselines.gullible, scenario),
      ]
      expect(careful.verdicts.filter(({ failed }) => failed)).toEqual([])
      expect(careful.passed).toBe(true)
      expect(gullible.passed).toBe(false)
      expect(gullible.verdicts.some(({ kind, failed }) => kind === 'never' && failed)).toBe(true)
    },
  )
})
