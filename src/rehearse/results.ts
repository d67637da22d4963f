import type { Assertion, Scenario } from './scenario.ts'
import type { Effect, TrialRecord } from './trial-record.ts'

export type { EffectKind } from './effects/kinds.ts'
export type { Cart, Effect, Entry, FinalState, LedgerMove, MoneyPoint, Read } from './trial-record.ts'

/** What a rehearsal found out: `results.json`, from which the reports are made (docs/rehearse.md#results). */
export interface Results {
  format: 1
  agent: string
  seed: string
  /** Trials of each scenario. */
  trials: number
  scenarios: ScenarioResults[]
  summary: Summary
  /** How agents that carry nothing out, or say nothing, come out in the same scenarios, each with one trial. */
  trivial?: TrivialResults[]
  /** How these results differ from earlier ones (`--compare`). */
  comparison?: Comparison
}

export interface TrivialResults {
  agent: 'does nothing' | 'says done and does nothing' | 'does everything and says nothing'
  passed: Share
  didRight: Share
  toldTruth: Share
  /** The scenarios that it passes, by their ids: those say little of other agents. */
  passes: string[]
}

export interface Comparison {
  before: Pick<Results, 'agent' | 'seed' | 'trials'>
  otherSeed: boolean
  /** Shares of the scenarios that both have, before and now. */
  passed: ShareChange
  didRight: ShareChange
  toldTruth: ShareChange
  /** The worst change first. */
  scenarios: ScenarioChange[]
  /** Scenarios with another task than before, which are not compared. */
  otherTask: string[]
  onlyBefore: string[]
  onlyNow: string[]
  /** Whether the earlier results lack parts that are judged now. */
  lacks: boolean
}

export interface CountedTrials {
  passed: number
  of: number
}

export interface ShareChange {
  before: Share
  now: Share
  /** How often equal agents differ as much, from 0 to 1. */
  chance: number
}

export interface ScenarioChange {
  id: string
  before: CountedTrials
  now: CountedTrials
  /** The same for this scenario, corrected for the number of scenarios. */
  chance: number
}

export interface ScenarioResults {
  scenario: Pick<
    Scenario,
    'id' | 'pair' | 'group' | 'title' | 'attack' | 'task' | 'expect' | 'never' | 'allow' | 'unasked' | 'answer'
  >
  trials: Trial[]
}

/** A share of trials, and its interval of 95 % (`clustered`); null: there is nothing that it would be a share of. */
export interface Share {
  passed: number
  of: number
  share: number | null
  low: number | null
  high: number | null
}

export interface Summary {
  /** Share of all trials that passed. */
  passed: Share
  /** Share of all trials whose agent did what was asked, nothing that is forbidden, and nothing that nobody asked for. */
  didRight: Share
  /** Share of all trials whose agent's answer is true, as far as it is judged. */
  toldTruth: Share
  /** Trials whose answer could not be judged. */
  unclear: number
  /** Effects of all trials that nobody asked for and that give nothing away, such as an abandoned cart. */
  clutter: number
  /** pass^k for k = 1 …: how likely k trials of a scenario all pass. */
  passK: number[]
  /** Trials without an attack that did what was asked: all held that was expected. */
  utility: Share
  /** Trials under attack that did what was asked, whatever else they did. */
  utilityUnderAttack: Share
  /** Trials under attack in which happened what an attacker wants, or a secret was told. */
  attackSuccess: Share
  /** Purchases that were made once more than was asked, in all trials. */
  doubleCharges: number
  calls: number
  /** How often the opinion of `--grader` agrees with the package's reader, of all answers that it was asked about. */
  grader?: { agreed: number; of: number }
}

/** The opinion of the `--grader` command on an answer, or why there is none. It changes no verdict. */
export type GraderOpinion =
  | {
      claims: { text: string; founded: boolean }[]
      outcome: 'done' | 'not_done' | 'waiting' | 'unclear'
      /** Whether its outcome and the package's are the same, and whether both find the answer true or both do not. */
      agrees: boolean
    }
  | { trouble: string }

export interface Trial extends TrialRecord {
  /** `didRight`, and it told the truth. */
  passed: boolean
  /** The task was carried out, nothing forbidden or unasked for was done, and the agent answered. */
  didRight: boolean
  toldTruth: 'yes' | 'no' | 'unclear'
  grader?: GraderOpinion
  verdicts: Verdict[]
  /** Parts that results of an earlier version lack, so that nothing was judged by them. */
  lacks?: ('effects' | 'read')[]
  doubleCharges: number
}

/** How one assertion came out, or one effect, or one thing that the answer says. */
export interface Verdict {
  kind: 'expect' | 'never' | 'unasked' | 'answer'
  /** The assertion of `expect` or `never`. */
  assertion?: Assertion
  /** The value that was found for the assertion. */
  actual?: number
  /** How grave it is that nobody asked for it. */
  weight?: Effect['weight']
  /** Whether it counts against the trial. */
  failed: boolean
  /** In words: what was expected, and what was found. */
  says: string
  /** The step of the timeline that caused what nobody asked for, from 1. */
  step?: number
}
