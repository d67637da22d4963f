import { compare } from '../../src/rehearse/comparison.ts'
import type { Results } from '../../src/rehearse/results.ts'
import { effect, entry, failedVerdict, move, point, resultsOf, scenarioOf, verdict } from './sample-results.ts'

/** Returns results with the given string in every field whose value an agent, a shop or a scenario can choose. */
export function resultsWithText(text: string): Results {
  const failed = { ...verdict('expect', { what: 'mentioned', text, exactly: 1 }, 0, true), says: text }
  const steps = (['call', 'page', 'person', 'time'] as const).map((kind, at) =>
    entry(at, text, {
      kind,
      sent: at === 0 ? text : { [text]: [text] },
      outcome: text,
      answer: text,
      moves: [move(text, 4250)],
      fault: text,
    }),
  )
  const failedTrial = {
    ...({ answer: text, trouble: text, ended: 'failed', passed: false } as const),
    verdicts: [failed, failedVerdict('unasked', text, { step: 2 }), failedVerdict('answer', text)],
    timeline: steps,
    money: [point(0, 100, 0, 0), point(2, 50, 50, 0)],
    effects: [effect(text, 1), effect(text, 4, { by: 'time', weight: 'clutter' })],
  }
  const scenarios = [scenarioOf({ id: 'a', title: text, task: text, attack: true }, [failedTrial, { answer: text }])]
  const results = { ...resultsOf(scenarios, text), seed: text }
  return { ...results, comparison: compare(results, results, new Map()) }
}
