import type { Trial } from '../results.ts'
import { quoted } from './finding.ts'
import { type AnswerScenario, findingsOf } from './judge-answer.ts'
import { readAmounts } from './numbers.ts'
import type { Reading } from './outcome.ts'

/** A claim in an answer, and whether the ledger or the data that the agent read supports it. */
export interface Claim {
  text: string
  founded: boolean
}

const maxClaims = 100

/** Returns the outcome that an answer reports, and its claims about money, people and goods. */
export function claimsOf(scenario: AnswerScenario, trial: Trial): { reading: Reading; claims: Claim[] } {
  const { outcome, prose, found } = findingsOf(scenario, trial)
  const acting = new Set(outcome.acts.map(({ clause }) => clause))
  const claims = prose.clauses
    .filter((clause) => acting.has(clause) || readAmounts(clause.text).length > 0)
    .map(({ text }) => ({ text, founded: !found.some(({ says }) => says.includes(quoted(text))) }))
  return { reading: outcome.reading, claims: claims.slice(0, maxClaims) }
}
