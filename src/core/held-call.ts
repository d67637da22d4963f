/** A tool call that needs a person's decision, as it was when the person was asked. */
export interface HeldCall {
  tool: string
  /** The arguments as the host sent them. */
  arguments: Record<string, unknown>
  /** The idempotency key with which the call is carried out; undefined if the operation takes no key. */
  key?: string | undefined
  /** The fingerprint of the call and of the facts that the person sees. */
  fingerprint: string
  /** The facts that the person sees. */
  facts: readonly string[]
  /** The sentence that tells the person what approving the call does. */
  effect: string
  /** The label of the button or checkbox that approves. */
  approveLabel: string
  /** Whether the call spends money, so that spending limits apply. */
  spends: boolean
  /** The host's self-reported name. */
  host?: string | undefined
  /** The id of the agent's run that the call belongs to. */
  instanceId?: string | undefined
}

/** How long a person has to decide. After the decision, an approval stays valid for the same time. */
export const heldMs = 10 * 60_000

/** How many calls of one connection may be pending at the same time. */
export const maxHeld = 20

export const tooManyHeld =
  'Too many calls are already waiting for a decision. Ask the person to decide on them first, then call again.'

export type Answer = 'yes' | 'no'

/**
 * A stored decision. While it is pending, `endsAtMs` is the time until which the person can answer. After an approval,
 * `endsAtMs` is the time when the approval expires.
 */
export interface StoredDecision {
  status: 'pending' | Answer
  endsAtMs: number
}

/** The state of a decision. It is `ended` if nobody decided in time, or if the approval has expired. */
export type HeldState = StoredDecision['status'] | 'ended'

/** Returns the state of a decision at the given time. A refusal never expires. */
export function heldState({ status, endsAtMs }: StoredDecision, nowMs: number): HeldState {
  return status === 'no' || nowMs < endsAtMs ? status : 'ended'
}

/**
 * Returns the decision after a person's answer. Returns undefined if the decision is no longer pending, because the
 * answer then changes nothing.
 */
export function withAnswer(decision: StoredDecision, answer: Answer, nowMs: number): StoredDecision | undefined {
  return heldState(decision, nowMs) === 'pending' ? { status: answer, endsAtMs: nowMs + heldMs } : undefined
}

/** Returns whether two calls raise the same question, so that one answer covers both. */
export function isSameCall(one: HeldCall, other: HeldCall): boolean {
  return one.fingerprint === other.fingerprint && one.tool === other.tool
}

/** Returns the value of a form's field `decision`; undefined if the value is neither yes nor no. */
export function answerIn(sent: URLSearchParams | undefined): Answer | undefined {
  const text = sent?.get('decision')
  return text === 'yes' || text === 'no' ? text : undefined
}

/** Returns the path of the page where a person decides. Opening the page does not decide anything. */
export const decisionPath = (id: string) => `/decide/${id}`

export const decisionIdPattern = /^dcn_[0-9a-f]{32}$/
