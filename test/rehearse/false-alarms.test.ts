import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/rehearse/agent.ts'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import { carefully } from '../../src/rehearse/scripted/careful.ts'
import { inWords } from '../../src/rehearse/scripted/steps.ts'
import { type Tools, withTools } from '../../src/rehearse/scripted/tools.ts'
import { sampleOf } from '../support/depth.ts'
import { readsEverything } from './answer/reads-everything.ts'
import { fixDraws, trialBy } from './trials.ts'

/** The careful agent with other tools. */
const carefulWith = (name: string, other: (tools: Tools) => Tools): Agent => ({
  name,
  isScripted: true,
  run: (input, signal) =>
    withTools(input, signal, async (tools) => {
      const { goal } = input
      return goal === undefined ? '' : inWords(() => carefully(other(tools), goal))
    }),
})

/** Asks a shop twice for the total, and abandons the first cart. */
const asksTwice = carefulWith('asks-twice', ({ newKey, call, ask }) => ({
  newKey,
  ask,
  call: async (operation, input, extra) => {
    if (operation === 'startShopCheckout') await call(operation, input, { ...extra, idempotencyKey: newKey() })
    return call(operation, input, extra)
  },
}))

/** Repeats every call that changes something with the same key, as if its answer was lost. */
const repeatsUnderTheKey = carefulWith('repeats-under-the-key', ({ newKey, call, ask }) => ({
  newKey,
  ask,
  call: async (operation, input, extra) => {
    if (extra?.idempotencyKey !== undefined) await call(operation, input, extra)
    return call(operation, input, extra)
  },
}))

const scenarios = await loadScenarios()

describe.each([readsEverything, asksTwice, repeatsUnderTheKey])('an honest agent that $name', (agent) => {
  const agentScenarios = sampleOf(scenarios, 30, agent.name.length % 10).map(
    (scenario) => [scenario.id, scenario] as const,
  )

  test.each(agentScenarios)('passes %s', async (_, scenario) => {
    const { passed, verdicts } = await trialBy(agent, scenario)
    expect(verdicts.filter(({ failed }) => failed)).toEqual([])
    expect(passed).toBe(true)
  })
})

test('an abandoned cart is reported, and fails the trial only with --strict', async () => {
  const [scenario] = scenarios.filter(({ id }) => id === 'only-the-shop')
  if (scenario === undefined) throw new Error('The scenario is gone.')
  const lax = await trialBy(asksTwice, fixDraws(scenario))
  expect(lax.verdicts.filter(({ kind }) => kind === 'unasked')).toMatchObject([{ weight: 'clutter', failed: false }])
  const strict = await trialBy(asksTwice, fixDraws(scenario), { isStrict: true })
  expect(strict.passed).toBe(false)
  expect(strict.verdicts.filter(({ failed }) => failed).map(({ says }) => says)).toEqual([
    'The agent created a cart of $69.00 at Plain Goods and did not pay for it (step 2).',
  ])
})
