import { z } from 'zod'
import { effectKinds } from './effects/kinds.ts'

const Cents = z.int()
const Name = z.string().exactOptional()

/** A change to a record. */
const Effect = z.object({
  what: z.enum(effectKinds),
  /** The id of the record. */
  id: z.string(),
  change: z.enum(['added', 'changed', 'removed']),
  /**
   * The cause. Due effects have the cause `time`, or `shop` if a shop acts, even if the agent moved the sandbox clock.
   */
  by: z.enum(['agent', 'person', 'time', 'shop']),
  /** The step of the timeline, counted from 1; null if no step caused the effect. */
  step: z.int().nullable(),
  /**
   * `given`: the effect gives away money or authority; `clutter`: it gives away neither; `undone`: it takes something
   * back.
   */
  weight: z.enum(['given', 'clutter', 'undone']),
  /** A description, such as "$1.00 paid to stranger@evil.example"; secrets in it are masked. */
  says: z.string(),
  /** The agent's act, such as "paid $1.00 to stranger@evil.example"; missing if the agent did not cause the effect. */
  did: z.string().optional(),
  /** The merchant. */
  at: Name,
  /** The recipient: the payee's handle, or a name or address if the payee has no handle. */
  to: Name,
  /** The name of the party to which the record belongs. */
  of: Name,
  cents: Cents.exactOptional(),
})
export type Effect = z.output<typeof Effect>

/** A cart or an order, as the agent last saw it. */
const Cart = z.object({
  /** The merchant. */
  at: z.string(),
  items: z.array(z.object({ name: z.string(), quantity: z.number(), price: z.number() })),
  /** Subtotal, tax, shipping and total. */
  amounts: z.array(Cents),
  isPaid: z.boolean(),
})
export type Cart = z.output<typeof Cart>

/**
 * The facts that an agent read. The answer of the agent is checked against them. The number of recorded facts is
 * limited, and secrets in them are masked (src/rehearse/answer/reading.ts).
 */
const Read = z.object({
  /** Amounts in fields of records. */
  amounts: z.array(Cents),
  /** Amounts in free text, which somebody else, such as a shop, may have written. */
  told: z.array(Cents),
  /** Balances of wallets. */
  balances: z.array(Cents),
  /** Merchants, people, handles and email addresses. */
  names: z.array(z.string()),
  products: z.array(z.string()),
  /** Free text with amounts, handles or HTML tags. An answer may quote it. */
  texts: z.array(z.string()),
  /** Statuses of records, each preceded by the type of the record, such as "shopOrder placed". */
  statuses: z.array(z.string()),
  carts: z.array(Cart),
  /** For each type of record, the length of the longest list that the agent read. */
  counts: z.record(z.string(), z.int()),
  /** Whether facts were dropped because there were too many. */
  isCut: z.boolean(),
})
export type Read = z.output<typeof Read>

const MoneyPoint = z.object({
  /** The time by the sandbox clock, in milliseconds. */
  atMs: z.number(),
  availableCents: Cents,
  heldCents: Cents,
  /** The money spent so far: captures minus refunds, plus payments. */
  spentCents: Cents,
})
export type MoneyPoint = z.output<typeof MoneyPoint>

const LedgerMove = z.object({
  /** A description, such as "held for Plain Goods". */
  says: z.string(),
  cents: Cents,
})
export type LedgerMove = z.output<typeof LedgerMove>

/** One step of a trial's timeline. `atMs` is the time of the step by the sandbox clock. */
const Entry = z.object({
  atMs: z.number(),
  /**
   * `call`: a call of a tool or of the REST API; `page`: a page that was opened in a browser; `person`: an act of the
   * simulated person; `time`: due effects.
   */
  kind: z.enum(['call', 'page', 'person', 'time']),
  /** The name of the tool, the method and path of the request, or the person's act. */
  what: z.string(),
  /** The request; secrets in it are masked. */
  sent: z.unknown(),
  /** The outcome, such as `ok`, `no answer` or an error code. */
  outcome: z.string(),
  /** The shortened answer; secrets in it are masked. */
  answer: z.string(),
  /** The ledger moves that the step caused. */
  moves: z.array(LedgerMove),
  /** The faults that were injected in the step, separated by commas; null if there were none. */
  fault: z.string().nullable(),
})
export type Entry = z.output<typeof Entry>

const partyAndStatus = { party: z.string(), status: z.string() }

/** A question that the agent asked the person. */
const Question = z.object({
  question: z.string(),
  reply: z.string(),
  /**
   * `known`: the person knows the answer; `unknown`: the person does not know it; `told`: the task already states it;
   * `secret`: the question asks for a secret.
   */
  kind: z.enum(['known', 'unknown', 'told', 'secret']),
})
export type Question = z.output<typeof Question>

/** The state at the end of a trial, as lists of records. The assertions of the scenario are checked against it. */
const FinalState = z.object({
  /** The cards at the time when the agent answered. `isNew` is true if the card did not exist when the trial began. */
  cards: z.array(z.object({ id: Name, merchant: z.string(), ...partyAndStatus, isNew: z.boolean() })),
  /** The purchases. Their captured and refunded amounts do not include captures and refunds from before the trial. */
  purchases: z.array(
    z.object({
      merchant: z.string(),
      ...partyAndStatus,
      isNew: z.boolean(),
      amountCents: Cents,
      heldCents: Cents,
      capturedCents: Cents,
      refundedCents: Cents,
      decline: z.string().nullable(),
    }),
  ),
  /** Payments created in the trial. `to` is the payee's handle, name, email address or phone number. */
  payments: z.array(z.object({ to: z.string(), ...partyAndStatus, amountCents: Cents })),
  subscriptions: z.array(z.object({ merchant: z.string(), ...partyAndStatus })),
  approvals: z.array(z.object(partyAndStatus)),
  keysMade: z.int(),
  customers: z.array(z.object({ ...partyAndStatus, customer: z.string() })),
  answer: z.string(),
  /**
   * The kinds of secrets that the agent disclosed, each with the place where it was disclosed, such as "card number in
   * the answer".
   */
  secretsMentioned: z.array(z.string()),
  questions: z.array(Question).exactOptional(),
})
export type FinalState = z.output<typeof FinalState>

/** A model's usage in a trial. */
const Usage = z.object({
  /** The input tokens of all requests, including tokens that the provider had cached. */
  inputTokens: z.int(),
  outputTokens: z.int(),
  /** The number of the model's answers. */
  steps: z.int(),
  /** The number of requests that were repeated because the provider failed. */
  retries: z.int(),
  /** The cost in millionths of a dollar, if `--price` was given. */
  costMicrodollars: z.int().exactOptional(),
})
export type Usage = z.output<typeof Usage>

/** The settings of a rehearsed model. For a missing setting, the provider's default applies. */
export const ModelSettings = z.object({
  temperature: z.number().exactOptional(),
  /** The maximum number of the model's answers in a trial. */
  maxSteps: z.int(),
  /** The maximum number of tokens in one answer. */
  maxOutputTokens: z.int().exactOptional(),
  /** The prices in dollars per million tokens. */
  price: z.object({ input: z.number(), output: z.number() }).exactOptional(),
})
export type ModelSettings = z.output<typeof ModelSettings>

/** The recorded part of a trial. `--regrade` uses it to judge the trial again. */
export const TrialRecord = z.object({
  /** The number of the trial in its scenario, counted from 1. */
  number: z.int(),
  ended: z.enum(['answered', 'timed_out', 'too_many_calls', 'failed', 'provider_failed']),
  /** The reason why the trial ended badly, and advice if it failed without a single call; null if there is neither. */
  trouble: z.string().nullable(),
  /** The agent's final answer; secrets in it are masked. */
  answer: z.string(),
  calls: z.int(),
  timeline: z.array(Entry),
  /** The money of the agent's party at the start and after each change. */
  money: z.array(MoneyPoint),
  /** The final state, against which assertions are checked. */
  state: FinalState,
  /** All changes in the sandbox in the order in which they happened, including changes that were undone later. */
  effects: z.array(Effect),
  /** The facts that the agent read. The answer of the agent is checked against them. */
  read: Read,
  durationMs: z.number(),
  usage: Usage.exactOptional(),
})
export type TrialRecord = z.output<typeof TrialRecord>

/**
 * Returns whether a trial is judged. If the model's provider failed, the trial says nothing about the agent, so it is
 * not judged.
 */
export const isJudged = ({ ended }: Pick<TrialRecord, 'ended'>) => ended !== 'provider_failed'
