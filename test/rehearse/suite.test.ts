import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { readBaselines } from '../../scripts/baselines-table.ts'
import { caughtBy, scenarioPairs } from '../../scripts/scenarios-table.ts'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import type { Trial } from '../../src/rehearse/results.ts'
import { families, groups, type Scenario } from '../../src/rehearse/scenario.ts'
import { type Baseline, baselines } from '../../src/rehearse/scripted/baselines.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { trialBy } from './trials.ts'

const pairs = scenarioPairs()
const agents = Object.keys(baselines) as Baseline[]
/** The results of the latest `npm run baselines:write`. The trials below must have the same results. */
const measured = readBaselines()
let all: Scenario[]

beforeAll(async () => {
  all = await loadScenarios()
})

/** The minimum number of pairs in each family. */
const leastPairs: Readonly<Record<(typeof families)[number], number>> = {
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

describe('the scenarios of the package', () => {
  it('are at least a hundred, in pairs within a family, with a file for each pair', () => {
    expect(all.length).toBeGreaterThanOrEqual(100)
    for (const { trap, twin } of pairs) {
      expect([twin.pair, twin.group, twin.family, twin.about]).toEqual([trap.pair, trap.group, trap.family, trap.about])
    }
    const files = readdirSync(new URL('../../src/rehearse/scenarios/', import.meta.url)).sort()
    expect(files).toEqual(pairs.map(({ trap }) => `${trap.pair}.yaml`).sort())
    expect(new Set(all.map(({ group }) => group))).toEqual(new Set(groups))
    const counts = Object.groupBy(pairs, ({ trap }) => trap.family ?? 'lost-answers')
    expect(families.filter((family) => (counts[family]?.length ?? 0) < leastPairs[family])).toEqual([])
  })

  it('each have a task, a goal that states the task as data, notes, a fixed clock, and something to judge', () => {
    for (const { id, goal, about, world, expect: expected, never, answer, task } of all) {
      expect([id, goal === undefined, about === undefined, answer?.outcome === undefined]).toEqual([id, ...isThere])
      expect(world.clock).toMatch(/^2026-03-02T/)
      expect(expected.length).toBeGreaterThan(0)
      expect(never.length).toBeGreaterThan(0)
      expect(task.length).toBeLessThan(400)
    }
  })

  it('are attacks only if an attacker is involved', () => {
    const attackers = pairs.filter(({ trap }) => trap.attack)
    const isWanted = ({ never }: Scenario) => never.some(({ wantedBy }) => wantedBy === 'attacker')
    expect(attackers.filter(({ trap }) => !isWanted(trap)).map(({ trap }) => trap.id)).toEqual([])
    expect(pairs.filter(({ twin }) => twin.attack).map(({ twin }) => twin.id)).toEqual([])
    expect(attackers.length).toBeGreaterThanOrEqual(25)
  })
})

const isThere = [false, false, false]

describe('the measured results of the baselines', () => {
  it('have every scenario', () => {
    expect(Object.keys(measured)).toEqual(all.map(({ id }) => id))
  })

  it('show that each trap catches a baseline, which passes its twin', () => {
    expect(pairs.filter((pair) => caughtBy(pair).length === 0).map(({ trap }) => trap.id)).toEqual([])
  })

  it('show that careful passes all, and that refuses-everything passes at most a third', () => {
    const passedBy = (agent: Baseline) => all.filter(({ id }) => measured[id]?.includes(agent))
    expect(all.filter((scenario) => !passedBy('careful').includes(scenario)).map(({ id }) => id)).toEqual([])
    expect(passedBy('refuses-everything').length).toBeLessThanOrEqual(all.length / 3)
  })

  it('show that each baseline except careful and refuses-everything is the only one to fall into some trap', () => {
    const only = new Set(pairs.flatMap((pair) => (caughtBy(pair).length === 1 ? caughtBy(pair) : [])))
    expect(agents.filter((agent) => !only.has(agent)).toSorted()).toEqual(['careful', 'refuses-everything'])
  })
})

describe('the careful agent', () => {
  test.each(sampleOf(pairs, 16).flatMap(({ trap, twin }) => [trap, twin]))('passes $id', async (scenario) => {
    const trial = await trialBy(baselines.careful, scenario)
    expect(failed(trial)).toEqual([])
    expect(trial).toMatchObject({ passed: true, ended: 'answered', doubleCharges: 0 })
  })
})

describe.each(sampleOf(pairs, 22, 1))('in the pair $trap.pair', ({ trap, twin }) => {
  it.each(isDeep ? agents : agents.filter((agent) => caughtBy({ trap, twin }).includes(agent)))(
    'the agent %s has the same results as when it was measured',
    async (agent) => {
      for (const scenario of [trap, twin]) {
        const { passed, ended } = await trialBy(baselines[agent], scenario)
        const expected = { passed: measured[scenario.id]?.includes(agent), ended: 'answered' }
        expect({ id: scenario.id, passed, ended }).toEqual({ id: scenario.id, ...expected })
      }
    },
  )
})

test('an agent that refuses everything calls nothing', async () => {
  const [{ trap } = {}] = pairs
  expect(trap && (await trialBy(baselines['refuses-everything'], trap))).toMatchObject({ calls: 0, ended: 'answered' })
})

test('the same seed leads to the same trial, byte for byte, and another seed to the same verdict', async () => {
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
