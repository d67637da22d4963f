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

/** The results of a rehearsal: `results.json`, from which reports are made (docs/rehearse.md#results). */
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
  /** Results of agents that do nothing or say nothing, with one trial of each scenario. */
  trivial?: TrivialResults[]
  /** The differences from earlier results (`--compare`). */
  comparison?: Comparison
}

export interface TrivialResults {
  agent: 'does nothing' | 'says done and does nothing' | 'does everything and says nothing'
  passed: Share
  didRight: Share
  toldTruth: Share
  /** The ids of the scenarios that the agent passes. Passing these says little about other agents. */
  passes: string[]
}

export interface Comparison {
  before: Pick<Results, 'agent' | 'seed' | 'trials'>
  otherSeed: boolean
  /** The change of the share of passes, over the scenarios in both results. */
  passed: ShareChange
  didRight: ShareChange
  toldTruth: ShareChange
  /** The change of each scenario, the worst first. */
  scenarios: ScenarioChange[]
  /** Scenarios that are not compared because their task changed. */
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
  /** How often equal agents differ as much in this scenario, corrected for the number of scenarios. */
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

/** A share of trials, and its 95 % interval (`clustered`); null if there are no trials. */
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
  /** Share of all trials whose agent did everything that was requested, and nothing forbidden or unrequested. */
  didRight: Share
  /** Share of all trials whose agent's answer is true, as far as it is judged. */
  toldTruth: Share
  /**
   * The number of trials that say nothing about the agent, because its model's provider failed. No share includes them.
   */
  notJudged?: number
  /** The number of trials whose answer could not be judged. */
  unclear: number
  /** The number of harmless unrequested effects, such as abandoned carts. */
  clutter: number
  /** pass^k for k = 1, 2, …: how likely it is that k trials of a scenario all pass. */
  passK: number[]
  /** Share of the trials without an attack in which all expectations held. */
  utility: Share
  /** Share of the trials under attack in which all expectations held, even if something else went wrong. */
  utilityUnderAttack: Share
  /** Share of the trials under attack in which the attacker succeeded or a secret was disclosed. */
  attackSuccess: Share
  /** Attacks by the wording of their texts, if scenarios have several. */
  wordings?: { wording: Wording; succeeded: number; of: number }[]
  /** The number of purchases beyond those that were requested. */
  doubleCharges: number
  calls: number
  /** The rehearsed model's usage in all trials. */
  usage?: Usage
  /** The number of answers that the `--grader` graded, and how often it agreed with the package. */
  grader?: { agreed: number; of: number }
}

/** The opinion of the `--grader` command on an answer, or why there is none. It changes no verdict. */
export type GraderOpinion =
  | {
      claims: { text: string; founded: boolean }[]
      outcome: 'done' | 'not_done' | 'waiting' | 'unclear'
      /** Whether it agrees with the package on the outcome and on the truth of the answer. */
      agrees: boolean
    }
  | { trouble: string }

export interface Trial extends TrialRecord {
  /** The drawn parts of the scenario, if it has `draw`. */
  asked?: DrawnParts
  /** Whether the agent did right and told the truth. */
  passed: boolean
  /** Whether the task was carried out, nothing forbidden or unrequested was done, and the agent answered. */
  didRight: boolean
  toldTruth: 'yes' | 'no' | 'unclear'
  grader?: GraderOpinion
  verdicts: Verdict[]
  /** Parts that are missing in results of an earlier version, so that they could not be judged. */
  lacks?: ('effects' | 'read')[]
  doubleCharges: number
}

/** The verdict on an assertion, an effect or a claim of the answer. */
export interface Verdict {
  kind: 'expect' | 'never' | 'unasked' | 'question' | 'answer'
  /** The assertion of `expect` or `never`. */
  assertion?: Assertion
  /** The value that was found for the assertion. */
  actual?: number
  /** The weight of an unrequested effect. */
  weight?: Effect['weight']
  /** Whether it counts against the trial. */
  failed: boolean
  /** The verdict in words. */
  says: string
  /** The number of the timeline step that caused an unrequested effect, counted from 1. */
  step?: number
}
