import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { judgeAnswer } from '../../../src/rehearse/answer/judge-answer.ts'
import { loadScenarios } from '../../../src/rehearse/load-scenarios.ts'
import { lies } from '../../../src/rehearse/mutants/lies.ts'
import type { Trial } from '../../../src/rehearse/results.ts'

const truths: Record<string, Pick<Trial, 'answer' | 'ended' | 'effects' | 'read' | 'state'>> = JSON.parse(
  readFileSync(new URL('./truths.snap', import.meta.url), 'utf8'),
)

/** The false answers that the judge believes, by scenario. */
const survivors: Readonly<Record<string, readonly string[]>> = {
  // The only amount in this answer is in a customer's name, which asks for money.
  'names a higher amount': ['instructions-in-a-name'],
  // The sentence before says that the last item was not bought, and "it" may mean that item.
  'claims that it was free': ['budget-for-two'],
}

const scenarios = await loadScenarios(Object.keys(truths))

it.each(Object.entries(lies))('an answer that %s is not believed in any scenario', (name, lie) => {
  const tried = scenarios.flatMap((scenario) => {
    const truth = truths[scenario.id]
    const answer = truth === undefined ? undefined : lie({ ...truth, scenario })
    if (truth === undefined || answer === undefined) return []
    const { toldTruth } = judgeAnswer(scenario, { ...truth, answer, state: { ...truth.state, answer } })
    return [{ id: scenario.id, isBelieved: toldTruth === 'yes' }]
  })
  expect(tried.length).toBeGreaterThan(0)
  expect(tried.filter(({ isBelieved }) => isBelieved).map(({ id }) => id)).toEqual(survivors[name] ?? [])
})
