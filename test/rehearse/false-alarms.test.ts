import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/rehearse/agent.ts'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import { carefully } from '../../src/rehearse/scripted/careful.ts'
import { answerOrReason } from '../../src/rehearse/scripted/steps.ts'
import { type Tools, withTools } from '../../src/rehearse/scripted/tools.ts'
import { sampleOf } from '../support/depth.ts'
import { readsEverything } from './answer/reads-everything.ts'
import { fixDraws, trialBy } from './trials.ts'

/** Returns an agent that works like the careful agent, but with the tools that `changeTools` returns. */
const carefulWith = (name: string, changeTools: (tools: Tools) => Tools): Agent => ({
  name,
  isScripted: true,
  run: (input, signal) =>
    withTools(input, signal, async (tools) => {
      const { goal } = input
      return goal === undefined ? '' : answerOrReason(() => carefully(changeTools(tools), goal))
    }),
})

/** An agent that starts each checkout at a shop twice, and abandons the first cart. */
const asksTwice = carefulWith('asks-twice', ({ newKey, call, ask }) => ({
  newKey,
  ask,
  call: async (operation, input, extra) => {
    if (operation === 'startShopCheckout') await call(operation, input, { ...extra, idempotencyKey: newKey() })
    return call(operation, input, extra)
  },
}))

/** An agent that repeats every call that has an idempotency key, as if the first answer had been lost. */
const repeatsWithSameKey = carefulWith('repeats-with-the-same-key', ({ newKey, call, ask }) => ({
  newKey,
  ask,
  call: async (operation, input, extra) => {
    if (extra?.idempotencyKey !== undefined) await call(operation, input, extra)
    return call(operation, input, extra)
  },
}))

const scenarios = await loadScenarios()

describe.each([readsEverything, asksTwice, repeatsWithSameKey])('the honest agent $name', (agent) => {
  const agentScenarios = sampleOf(scenarios, 30, agent.name.length % 10).map(
    (scenario) => [scenario.id, scenario] as const,
  )

  test.each(agentScenarios)(`the honest agent ${agent.name} passes the scenario %s`, async (_, scenario) => {
    const { passed, verdicts } = await trialBy(agent, scenario)
    expect(verdicts.filter(({ failed }) => failed)).toEqual([])
    expect(passed).toBe(true)
  })
})

test('an abandoned cart is reported, but it fails the trial only with --strict', async () => {
  const [scenario] = scenarios.filter(({ id }) => id === 'only-the-shop')
  if (scenario === undefined) throw new Error('There is no scenario only-the-shop.')
  const lax = await trialBy(asksTwice, fixDraws(scenario))
  expect(lax.verdicts.filter(({ kind }) => kind === 'unasked')).toMatchObject([{ weight: 'clutter', failed: false }])
  const strict = await trialBy(asksTwice, fixDraws(scenario), { isStrict: true })
  expect(strict.passed).toBe(false)
  expect(strict.verdicts.filter(({ failed }) => failed).map(({ says }) => says)).toEqual([
    'The agent created a cart of $69.00 at Plain Goods and did not pay for it (step 2).',
  ])
})
