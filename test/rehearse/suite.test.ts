import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { readBaselines } from '../../scripts/baselines-table.ts'
import { caughtBy, scenarioPairs } from '../../scripts/scenarios-table.ts'
import { drawScenario, loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import type { Trial } from '../../src/rehearse/results.ts'
import { families, groups, type Scenario } from '../../src/rehearse/scenario.ts'
import { type Baseline, baselines } from '../../src/rehearse/scripted/baselines.ts'
import { shopperScenarios, shoppers } from '../hosts/model/shopper.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { trialBy } from './trials.ts'

const pairs = scenarioPairs()
const agents = Object.keys(baselines) as Baseline[]
/** The baseline agents that passed each scenario when `npm run baselines:write` last ran. */
const recordedPasses = readBaselines()
let all: Scenario[]

beforeAll(async () => {
  all = await loadScenarios()
})

/** The minimum number of pairs in each family. */
const minimumPairs: Readonly<Record<(typeof families)[number], number>> = {
  extras: 4,
  splitting: 2,
  prices: 3,
  approvals: 3,
  payees: 3,
  authority: 4,
  secrets: 3,
  'missing-information': 5,
  'over-refusal': 3,
  'several-steps': 5,
  waiting: 4,
  codes: 2,
  instructions: 4,
  identity: 2,
  'lost-answers': 3,
}

const failed = ({ verdicts }: Trial) => verdicts.filter((verdict) => verdict.failed).map(({ says }) => says)

describe('the built-in scenarios', () => {
  it('there are at least a hundred scenarios in pairs; both scenarios of a pair share a family and a file', () => {
    expect(all.length).toBeGreaterThanOrEqual(100)
    for (const { trap, twin } of pairs) {
      expect([twin.pair, twin.group, twin.family, twin.about]).toEqual([trap.pair, trap.group, trap.family, trap.about])
    }
    const files = readdirSync(new URL('../../src/rehearse/scenarios/', import.meta.url)).sort()
    expect(files).toEqual(pairs.map(({ trap }) => `${trap.pair}.yaml`).sort())
    expect(new Set(all.map(({ group }) => group))).toEqual(new Set(groups))
    const counts = Object.groupBy(pairs, ({ trap }) => trap.family ?? 'lost-answers')
    expect(families.filter((family) => (counts[family]?.length ?? 0) < minimumPairs[family])).toEqual([])
  })

  it('each scenario has a short task, a goal, notes, an expected answer, a fixed date and assertions', () => {
    for (const { id, goal, about, world, expect: expected, never, answer, task } of all) {
      expect([id, [goal, about, answer?.outcome].includes(undefined)]).toEqual([id, false])
      expect(world.clock).toMatch(/^2026-03-02T/)
      expect(expected.length).toBeGreaterThan(0)
      expect(never.length).toBeGreaterThan(0)
      expect(task.length).toBeLessThan(400)
    }
  })

  it('the scripted models of the tests with real hosts understand the tasks that they are given', async () => {
    const tasks = (await loadScenarios(shopperScenarios)).flatMap((scenario) =>
      Array.from({ length: 20 }, (_, at) => drawScenario(scenario, `seed ${at}`).task),
    )
    const nextStep = (prompt: string) => shoppers.careful({ prompt, tools: [], results: [] })
    expect(tasks.filter((task) => !('call' in nextStep(task)))).toEqual([])
  })

  it('at least 25 traps are attacks, each with an outcome that an attacker wants; no twin is an attack', () => {
    const attacks = pairs.filter(({ trap }) => trap.attack)
    const isWanted = ({ never }: Scenario) => never.some(({ wantedBy }) => wantedBy === 'attacker')
    expect(attacks.filter(({ trap }) => !isWanted(trap)).map(({ trap }) => trap.id)).toEqual([])
    expect(pairs.filter(({ twin }) => twin.attack).map(({ twin }) => twin.id)).toEqual([])
    expect(attacks.length).toBeGreaterThanOrEqual(25)
  })
})

describe('the recorded results of the baselines', () => {
  it('the recorded results include every scenario', () => {
    expect(Object.keys(recordedPasses)).toEqual(all.map(({ id }) => id))
  })

  it('each trap catches at least one baseline that passes the twin', () => {
    expect(pairs.filter((pair) => caughtBy(pair).length === 0).map(({ trap }) => trap.id)).toEqual([])
  })

  it('the careful agent passes all scenarios, and refuses-everything passes at most a third', () => {
    const passedBy = (agent: Baseline) => all.filter(({ id }) => recordedPasses[id]?.includes(agent))
    expect(all.filter((scenario) => !passedBy('careful').includes(scenario)).map(({ id }) => id)).toEqual([])
    expect(passedBy('refuses-everything').length).toBeLessThanOrEqual(all.length / 3)
  })

  it('for each baseline except careful and refuses-everything, some trap catches only that baseline', () => {
    const only = new Set(pairs.flatMap((pair) => (caughtBy(pair).length === 1 ? caughtBy(pair) : [])))
    expect(agents.filter((agent) => !only.has(agent)).toSorted()).toEqual(['careful', 'refuses-everything'])
  })
})

describe('the careful agent', () => {
  const sample = sampleOf(pairs, 16).flatMap(({ trap, twin }) => [trap, twin])
  test.each(sample)('the careful agent passes $id', async (scenario) => {
    const trial = await trialBy(baselines.careful, scenario)
    expect(failed(trial)).toEqual([])
    expect(trial).toMatchObject({ passed: true, ended: 'answered', doubleCharges: 0 })
  })
})

describe.each(sampleOf(pairs, 22, 1))('the pair $trap.pair', ({ trap, twin }) => {
  it.each(isDeep ? agents : agents.filter((agent) => caughtBy({ trap, twin }).includes(agent)))(
    'the agent %s has the recorded results',
    async (agent) => {
      for (const scenario of [trap, twin]) {
        const { passed, ended } = await trialBy(baselines[agent], scenario)
        const expected = { passed: recordedPasses[scenario.id]?.includes(agent), ended: 'answered' }
        expect({ id: scenario.id, passed, ended }).toEqual({ id: scenario.id, ...expected })
      }
    },
  )
})

test('an agent that refuses everything calls no tools', async () => {
  const [{ trap } = {}] = pairs
  expect(trap && (await trialBy(baselines['refuses-everything'], trap))).toMatchObject({ calls: 0, ended: 'answered' })
})

test('trials with the same seed are identical, and a trial with another seed has the same outcome', async () => {
  for (const { trap } of sampleOf(pairs, 65)) {
    const trialWith = async (seed: string) => {
      const { durationMs: _, ...trial } = await trialBy(baselines.careful, trap, { seed })
      return trial
    }
    const first = await trialWith('1')
    expect(JSON.stringify(await trialWith('1'))).toBe(JSON.stringify(first))
    expect((await trialWith('2')).passed).toBe(first.passed)
  }
})
