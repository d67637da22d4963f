import type { Wording } from './draws.ts'
import type { Assertion, DrawnParts, Scenario } from './scenario.ts'
import type { Effect, ModelSettings, TrialRecord, Usage } from './trial-record.ts'

export type { EffectKind } from './effects/kinds.ts'
export type {
  Cart,
  Effect,
  Entry,
  FinalState,
  LedgerMove,
  ModelSettings,
  MoneyPoint,
  Question,
  Read,
  Usage,
} from './trial-record.ts'

/** The results of a rehearsal, as stored in `results.json`. Reports are made from them (docs/rehearse.md#results). */
export interface Results {
  format: 1
  agent: string
  seed: string
  /** The number of trials of each scenario. */
  trials: number
  scenarios: ScenarioResults[]
  summary: Summary
  /** The settings of the rehearsed model (`--model`). */
  model?: ModelSettings
  /** The results of trivial agents, which do nothing or say nothing, from one trial of each scenario. */
  trivial?: TrivialResults[]
  /** The differences from earlier results (`--compare`). */
  comparison?: Comparison
}

export interface TrivialResults {
  agent: 'does nothing' | 'says done and does nothing' | 'does everything and says nothing'
  passed: Share
  didRight: Share
  toldTruth: Share
  /** The ids of the scenarios that this agent passes. If another agent passes them too, that proves little. */
  passes: string[]
}

export interface Comparison {
  before: Pick<Results, 'agent' | 'seed' | 'trials'>
  /** Whether the two rehearsals had different seeds. */
  otherSeed: boolean
  /** The change in the share of passed trials, over all compared scenarios. */
  passed: ShareChange
  didRight: ShareChange
  toldTruth: ShareChange
  /** The change in each scenario, the largest decline first. */
  scenarios: ScenarioChange[]
  /** The ids of the scenarios that are not compared, because their tasks changed. */
  otherTask: string[]
  onlyBefore: string[]
  onlyNow: string[]
  /**
   * Whether the earlier results lack parts that are judged now, because an older version of this package wrote them.
   */
  lacks: boolean
}

export interface CountedTrials {
  passed: number
  of: number
}

export interface ShareChange {
  before: Share
  now: Share
  /** The p-value: the probability that two equally good agents would differ by at least this much. */
  chance: number
}

export interface ScenarioChange {
  id: string
  before: CountedTrials
  now: CountedTrials
  /** The p-value of the change, corrected for the number of scenarios. */
  chance: number
}

export interface ScenarioResults {
  scenario: Pick<
    Scenario,
    | 'id'
    | 'pair'
    | 'group'
    | 'family'
    | 'title'
    | 'attack'
    | 'task'
    | 'expect'
    | 'never'
    | 'allow'
    | 'unasked'
    | 'answer'
  >
  trials: Trial[]
}

/**
 * A share of trials and its 95 % confidence interval (`clusteredShare`). Without trials, `share`, `low` and `high` are
 * null.
 */
export interface Share {
  passed: number
  of: number
  share: number | null
  low: number | null
  high: number | null
}

export interface Summary {
  /** The share of trials that passed. */
  passed: Share
  /** The share of trials in which the agent did all that was requested, and nothing forbidden or unrequested. */
  didRight: Share
  /** The share of trials in which the agent's answer is true, as far as it can be checked. */
  toldTruth: Share
  /** The number of trials in which the provider of the agent's model failed. They are not included in any share. */
  notJudged?: number
  /** The number of trials in which it is unclear whether the agent's answer is true. */
  unclear: number
  /** The number of harmless unrequested effects, such as abandoned carts. */
  clutter: number
  /** The probability that k trials of a scenario all pass (pass^k), for k = 1, 2, … */
  passK: number[]
  /** Among the trials without an attack, the share in which all expectations held. */
  utility: Share
  /** Among the trials with an attack, the share in which all expectations held. Such a trial may still have failed. */
  utilityUnderAttack: Share
  /** Among the trials with an attack, the share in which the attacker succeeded or a secret was disclosed. */
  attackSuccess: Share
  /** The number of attacks with each wording, and how many of them succeeded; missing if no trial has a wording. */
  wordings?: { wording: Wording; succeeded: number; of: number }[]
  /** The number of identical purchases or payments beyond the expected ones. */
  doubleCharges: number
  calls: number
  /** The rehearsed model's usage in all trials. */
  usage?: Usage
  /** The number of answers that the `--grader` command graded, and how often it agreed with the package. */
  grader?: { agreed: number; of: number }
}

/**
 * The opinion of the `--grader` command on an answer, or the reason why there is none. The opinion changes no verdict.
 */
export type GraderOpinion =
  | {
      claims: { text: string; founded: boolean }[]
      outcome: 'done' | 'not_done' | 'waiting' | 'unclear'
      /** Whether the command agrees with the package on the outcome and on the truth of the answer. */
      agrees: boolean
    }
  | { trouble: string }

export interface Trial extends TrialRecord {
  /** The parts of the scenario with the values drawn for this trial; missing if the scenario has no `draw`. */
  asked?: DrawnParts
  /** Whether the agent did right and told the truth. */
  passed: boolean
  /** Whether the task was carried out, nothing forbidden or unrequested was done, and the agent answered. */
  didRight: boolean
  toldTruth: 'yes' | 'no' | 'unclear'
  grader?: GraderOpinion
  verdicts: Verdict[]
  /** The parts that could not be judged, because an earlier version of this package did not record them. */
  lacks?: ('effects' | 'read')[]
  doubleCharges: number
}

/** A verdict on an assertion, an effect, a question to the person, or a claim in the answer. */
export interface Verdict {
  kind: 'expect' | 'never' | 'unasked' | 'question' | 'answer'
  /** The assertion of `expect` or `never`. */
  assertion?: Assertion
  /** The measured value that the assertion was compared with. */
  actual?: number
  /** The weight of an unrequested effect. */
  weight?: Effect['weight']
  /** Whether the verdict counts against the trial. */
  failed: boolean
  /** The verdict in words. */
  says: string
  /** The number of the timeline step that caused an unrequested effect, counted from 1. */
  step?: number
}
