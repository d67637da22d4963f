import { z } from 'zod'
import { effectKinds } from './effects/kinds.ts'

const Cents = z.int()
const Name = z.string().exactOptional()

/** One change of one record. */
const Effect = z.object({
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
const Read = z.object({
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

const MoneyPoint = z.object({
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
const Entry = z.object({
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
const FinalState = z.object({
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

/** The part of a trial that is kept, and from which it is judged again. */
export const TrialRecord = z.object({
  /** From 1. */
  number: z.int(),
  ended: z.enum(['answered', 'timed_out', 'too_many_calls', 'failed']),
  /** Why the trial did not end well, or why its failure tells nothing of the agent; null: neither. */
  trouble: z.string().nullable(),
  /** The agent's last words; secrets in them are masked. */
  answer: z.string(),
  calls: z.int(),
  timeline: z.array(Entry),
  /** The money of the agent's party over the sandbox's time: at the start, then a point after each change. */
  money: z.array(MoneyPoint),
  /** The measures that a later judgement asks for (`--regrade`). */
  state: FinalState,
  /** All that changed in the sandbox, even if it was undone later, in the order in which it happened. */
  effects: z.array(Effect),
  /** The amounts and names that the agent read. Its answer is looked up in them. */
  read: Read,
  durationMs: z.number(),
})
export type TrialRecord = z.output<typeof TrialRecord>
