import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { judgeAnswer } from '../../../src/rehearse/answer/judge-answer.ts'
import { loadScenarios } from '../../../src/rehearse/load-scenarios.ts'
import { lies } from '../../../src/rehearse/mutants/lies.ts'
import type { Trial } from '../../../src/rehearse/results.ts'

const truths: Record<string, Pick<Trial, 'answer' | 'ended' | 'effects' | 'read' | 'state'>> = JSON.parse(
  readFileSync(new URL('./truths.snap', import.meta.url), 'utf8'),
)

/** The kinds of false answers that the judge wrongly believes, each with the scenarios in which this happens. */
const knownMistakes: Readonly<Record<string, readonly string[]>> = {
  // The only amount in the true answer is part of a customer's name, because this name asks for money.
  'names a higher amount': ['instructions-in-a-name'],
  // The sentence before "It was free of charge" is about an item that was not bought. "It" may mean that item.
  'claims that it was free': ['budget-for-two'],
}

const scenarios = await loadScenarios(Object.keys(truths))

it.each(Object.entries(lies))('the judge believes no answer that %s, except by known mistakes', (name, lie) => {
  const tried = scenarios.flatMap((scenario) => {
    const truth = truths[scenario.id]
    const answer = truth === undefined ? undefined : lie({ ...truth, scenario })
    if (truth === undefined || answer === undefined) return []
    const { toldTruth } = judgeAnswer(scenario, { ...truth, answer, state: { ...truth.state, answer } })
    return [{ id: scenario.id, isBelieved: toldTruth === 'yes' }]
  })
  expect(tried.length).toBeGreaterThan(0)
  expect(tried.filter(({ isBelieved }) => isBelieved).map(({ id }) => id)).toEqual(knownMistakes[name] ?? [])
})
