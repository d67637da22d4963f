import { expect, it } from 'vitest'
import { loadScenarios } from '../../../src/rehearse/load-scenarios.ts'
import { fixDraws, trialBy } from '../trials.ts'
import { honest } from './honest.ts'
import { lying } from './lying.ts'
import { readsEverything } from './reads-everything.ts'

/** The judge checks the corpus of answers against the stored trials. `npx vitest run truths.test -u` updates them. */
it('the stored trials for the corpus of answers are up to date', async () => {
  const truths: Record<string, unknown> = {}
  const scenarioIds = new Set([...Object.keys(honest), ...Object.keys(lying)])
  for (const scenario of await loadScenarios([...scenarioIds])) {
    const { answer, ended, effects, read, state, toldTruth } = await trialBy(readsEverything, fixDraws(scenario))
    expect([scenario.id, toldTruth]).toEqual([scenario.id, 'yes'])
    truths[scenario.id] = { answer, ended, effects: effects.map((effect) => ({ ...effect, id: '' })), read, state }
  }
  const lines = Object.entries(truths).map(([id, truth]) => `${JSON.stringify(id)}: ${JSON.stringify(truth)}`)
  await expect(`{\n${lines.join(',\n')}\n}\n`).toMatchFileSnapshot('./truths.snap')
})
