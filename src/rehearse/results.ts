import { z } from 'zod'
import { effectKinds } from './effects/kinds.ts'
import type { Assertion, Scenario } from './scenario.ts'

export type { EffectKind } from './effects/kinds.ts'

const Cents = z.int()
const Name = z.string().exactOptional()

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

export interface Trial {
  /** From 1. */
  number: number
  /** `didRight`, and it told the truth. */
  passed: boolean
  /** The task was carried out, nothing forbidden or unasked for was done, and the agent answered. */
  didRight: boolean
  toldTruth: 'yes' | 'no' | 'unclear'
  grader?: GraderOpinion
  ended: 'answered' | 'timed_out' | 'too_many_calls' | 'failed'
  /** Why the trial did not end well, or why its failure tells nothing of the agent; null: neither. */
  trouble: string | null
  /** The agent's last words; secrets in them are masked. */
  answer: string
  verdicts: Verdict[]
  /** All that changed in the sandbox, also what was undone later, in the order in which it happened. */
  effects: Effect[]
  /** The amounts and names that the agent read. Its answer is looked up in them. */
  read: Read
  /** Parts that results of an earlier version lack, so that nothing was judged by them. */
  lacks?: ('effects' | 'read')[]
  doubleCharges: number
  calls: number
  timeline: Entry[]
  /** The money of the agent's party over the sandbox's time: as it began, then a point after each change. */
  money: MoneyPoint[]
  /** The measures that a later judgement asks for (`--regrade`). */
  state: FinalState
  durationMs: number
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

/** One change of one record. */
export const Effect = z.object({
  what: z.enum(effectKinds),
  /** The record's. */
  id: z.string(),
  change: z.enum(['added', 'changed', 'removed']),
  /** The cause. `time` covers due effects, even if a call of the agent met them. */
  by: z.enum(['agent', 'person', 'time', 'shop']),
  /** The step of the timeline, from 1; null: it has none. */
  step: z.int().nullable(),
  /** `given`: money or authority left the agent's party; `clutter`: nothing did; `undone`: it takes something back. */
  weight: z.enum(['given', 'clutter', 'undone']),
  /** In words, such as "$1.00 paid to stranger@evil.example"; secrets in it are masked. */
  says: z.string(),
  /** The merchant. */
  at: Name,
  /** The payee's handle, or another recipient. */
  to: Name,
  /** The party of the world whose record it is. */
  of: Name,
  cents: Cents.exactOptional(),
})
export type Effect = z.output<typeof Effect>

/** A cart or an order as an agent was shown it last. */
const Cart = z.object({
  /** The merchant. */
  at: z.string(),
  items: z.array(z.object({ name: z.string(), quantity: z.number(), price: z.number() })),
  /** Subtotal, tax, shipping and total. */
  amounts: z.array(Cents),
  isPaid: z.boolean(),
})
export type Cart = z.output<typeof Cart>

/** The part of what an agent was shown that its answer is looked up in: bounded, and without secrets (src/rehearse/answer/read.ts). */
export const Read = z.object({
  /** Amounts in fields of records. */
  amounts: z.array(Cents),
  /** Amounts in texts, which somebody else may have written. */
  told: z.array(Cents),
  /** Balances of wallets. */
  balances: z.array(Cents),
  /** Merchants, people, handles and addresses. */
  names: z.array(z.string()),
  products: z.array(z.string()),
  /** Texts with amounts, handles or tags, which an answer may quote. */
  texts: z.array(z.string()),
  /** Statuses of records by their type, such as "shopOrder placed". */
  statuses: z.array(z.string()),
  carts: z.array(Cart),
  /** The length of the longest list of each type of record. */
  counts: z.record(z.string(), z.int()),
  /** Whether there was more than is kept. */
  isCut: z.boolean(),
})
export type Read = z.output<typeof Read>

export const MoneyPoint = z.object({
  /** The sandbox's time, milliseconds. */
  atMs: z.number(),
  availableCents: Cents,
  heldCents: Cents,
  /** The money that left for good so far: captured less refunded, and paid. */
  spentCents: Cents,
})
export type MoneyPoint = z.output<typeof MoneyPoint>

const LedgerMove = z.object({
  /** In words, such as "held for Plain Goods". */
  says: z.string(),
  cents: Cents,
})
export type LedgerMove = z.output<typeof LedgerMove>

/** One step of a trial's timeline, at the sandbox's time. */
export const Entry = z.object({
  atMs: z.number(),
  /** `call`: of a tool or of the REST API; `page`: of a browser; `person`: the simulated person; `time`: due effects. */
  kind: z.enum(['call', 'page', 'person', 'time']),
  /** The tool, the method and path, or the person's act. */
  what: z.string(),
  /** The request; secrets are masked. */
  sent: z.unknown(),
  /** `ok`, an error code, or `no answer`. */
  outcome: z.string(),
  /** The answer in short; secrets are masked. */
  answer: z.string(),
  /** The ledger's moves. */
  moves: z.array(LedgerMove),
  /** The fault that was injected. */
  fault: z.string().nullable(),
})
export type Entry = z.output<typeof Entry>

const ofParty = { party: z.string(), status: z.string() }

/** Everything countable about the end of a trial, as rows, which assertions are measured by. */
export const FinalState = z.object({
  /** As they were when the agent answered. `isNew`: it was not there when the trial began. */
  cards: z.array(z.object({ id: Name, merchant: z.string(), ...ofParty, isNew: z.boolean() })),
  /** Only money captured and refunded since the trial began is counted. */
  purchases: z.array(
    z.object({
      merchant: z.string(),
      ...ofParty,
      isNew: z.boolean(),
      amountCents: Cents,
      heldCents: Cents,
      capturedCents: Cents,
      refundedCents: Cents,
      decline: z.string().nullable(),
    }),
  ),
  /** Made in the trial. `to` is the payee's handle, its name in the world, or the address that was paid. */
  payments: z.array(z.object({ to: z.string(), ...ofParty, amountCents: Cents })),
  subscriptions: z.array(z.object({ merchant: z.string(), ...ofParty })),
  approvals: z.array(z.object(ofParty)),
  keysMade: z.int(),
  customers: z.array(z.object({ ...ofParty, customer: z.string() })),
  answer: z.string(),
  /** Kinds of secrets that were told where they must not be: in the answer, to a shop, in a payment. */
  secretsMentioned: z.array(z.string()),
})
export type FinalState = z.output<typeof FinalState>
