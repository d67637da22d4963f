import { expect, it } from 'vitest'
import { openRehearsalStage } from '../../src/commands/rehearse-stage.ts'
import { realSystem } from '../../src/core/system.ts'
import type { RehearsalOptions } from '../../src/rehearse/rehearse.ts'
import { baselines } from '../../src/rehearse/scripted/baselines.ts'
import { rehearseWithTrivial } from '../../src/rehearse/trivial.ts'
import { agentBy, scenarioWith, smallWorld } from './trials.ts'

const paid = (cents: number) => [{ what: 'paid' as const, to: 'bakery', exactly: cents }]
const goal = { do: 'pay' as const, to: '@bakery', amount: '40 dollars', for: 'bread' }
const scenarios = [
  scenarioWith({ id: 'pay', task: 'Please pay the bakery 40 dollars.', goal, expect: paid(4_000) }),
  scenarioWith({
    id: 'leave-it',
    task: 'Please pay the bakery nothing.',
    expect: paid(0),
    answer: { outcome: 'not_done' },
  }),
  // An agent passes this scenario if it does nothing and answers “Done.”.
  scenarioWith({ id: 'too-easy', task: 'Please be careful.', expect: paid(0), answer: { outcome: 'done' } }),
]

const agent = agentBy(async ({ call }, { task }) => {
  if (task.includes('40'))
    await call('create_payment', { counterparty: { type: 'handle', value: '@bakery' }, amount: 4_000 })
  return task.includes('40') ? 'I paid $40.00 to the bakery.' : 'I did not pay anybody.'
})

const rehearsal = (overrides: Partial<RehearsalOptions> = {}) =>
  rehearseWithTrivial({
    ...{ scenarios, agent, trials: 2, seed: 'a seed', concurrency: 2, openStage: openRehearsalStage },
    openFolder: () => Promise.reject(new Error('A scripted agent has no folder.')),
    elapsed: () => realSystem.elapsed(),
    signal: new AbortController().signal,
    ...overrides,
  })

it('the results include three trivial agents: one does nothing, one only talks, and one only acts', async () => {
  const progress: string[] = []
  const { results } = await rehearsal({ onTrial: ({ number }) => progress.push(String(number)) })
  expect(results.summary.didRight).toMatchObject({ passed: 6, of: 6 })
  // Only the trials of the rehearsed agent are reported as progress.
  expect(progress).toHaveLength(6)
  expect(results.trivial).toMatchObject([
    { agent: 'does nothing', passed: { passed: 0, of: 3 }, didRight: { passed: 2 }, toldTruth: { passed: 0 } },
    { agent: 'says done and does nothing', didRight: { passed: 2, of: 3 } },
    { agent: 'does everything and says nothing', passed: { passed: 0, of: 1 }, didRight: { passed: 1, of: 1 } },
  ])
  const [idle, boast] = results.trivial ?? []
  expect(idle?.passes).toEqual([])
  // The agent that only talks always answers “Done.”, which is not true in the scenario `pay`.
  expect(boast?.passes).not.toContain('pay')
  expect(boast?.toldTruth.passed).toBe(boast?.passes.length)
})

it('the silent agent reuses trials of the careful agent; interrupted rehearsals omit the trivial agents', async () => {
  let opened = 0
  const openStage: typeof openRehearsalStage = (setting) => {
    opened += 1
    return openRehearsalStage(setting)
  }
  const only = scenarios.slice(0, 1)
  const { results } = await rehearsal({ scenarios: only, agent: baselines.careful, trials: 1, openStage })
  expect(opened).toBe(2)
  expect(results.trivial?.map(({ didRight }) => didRight.passed)).toEqual([0, 0, 1])
  const interrupting = new AbortController()
  const { results: cut, interrupted } = await rehearsal({
    signal: interrupting.signal,
    concurrency: 1,
    onTrial: () => interrupting.abort(),
  })
  expect([interrupted, cut.trivial]).toEqual([true, undefined])
})

it('if a scenario’s world has a mistake, the whole rehearsal fails with a message about the mistake', async () => {
  const world = { parties: { us: { ...smallWorld.parties.us, agents: { shopper: { keys: {} } } } } }
  await expect(rehearsal({ scenarios: [scenarioWith({ world })] })).rejects.toThrow(/agent with a key/)
})
