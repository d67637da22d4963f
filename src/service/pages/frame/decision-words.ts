import { foreignName } from '../../../core/foreign-text.ts'
import type { HeldCall, HeldState } from '../../../core/held-call.ts'
import { momentOf } from './texts.ts'

/** The texts about a call that needs a decision. Plain text, not HTML. */
export interface DecisionWords {
  heading: string
  /** The sentences about the outcome; empty while the call is pending. */
  outcome: string[]
  /** Whether a person can still decide on the call. */
  isPending: boolean
  facts: Fact[]
  /** A sentence about the effect of approving. */
  effect: string
  /** The label of the button that approves. */
  yes: string
  expiresAt: string
}

export interface Fact {
  /** The label; empty if `text` is a whole sentence. */
  label: string
  text: string
}

interface DecisionInput {
  call: Pick<HeldCall, 'facts' | 'effect' | 'approveLabel' | 'host'>
  state: HeldState
  endsAtMs: number
}

export function decisionWords({ call, state, endsAtMs }: DecisionInput): DecisionWords {
  const expiresAt = momentOf(endsAtMs)
  return {
    heading: headings[state],
    outcome: outcomes[state](expiresAt),
    isPending: state === 'pending',
    facts: call.facts.map(factOf),
    effect: call.effect,
    yes: call.approveLabel,
    expiresAt,
  }
}

/** Returns the host's self-reported name, made safe to show; null if the host reported no name. */
export function hostWords(host: string | undefined): string | null {
  return host === undefined ? null : foreignName(host, 'A program without a name')
}

const headings = {
  pending: 'Approve this?',
  yes: 'Approved',
  no: 'Denied',
  ended: 'Expired',
} as const satisfies Record<HeldState, string>

const outcomes = {
  pending: () => [],
  yes: (expiresAt) => [
    `Your assistant can do this until ${expiresAt}. Go back to the conversation; you can close this page.`,
  ],
  no: () => ['Nothing was done. You can close this page.'],
  ended: () => ['This request has expired. If you still want it, ask your assistant again.'],
} as const satisfies Record<HeldState, (expiresAt: string) => string[]>

/**
 * Splits a fact of the form `Label: text`. All other facts get an empty label. The facts were made safe to show when
 * they were recorded.
 */
function factOf(fact: string): Fact {
  const [, label, text] = /^([A-Z][^:“]{1,50}): (.+)$/.exec(fact) ?? []
  return label === undefined || text === undefined ? { label: '', text: fact } : { label, text }
}
