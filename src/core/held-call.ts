/** A call of a tool as it was when a person was asked about it. */
export interface HeldCall {
  tool: string
  /** As the host sent them. */
  arguments: Record<string, unknown>
  /** The key under which it is carried out; undefined where the operation takes none. */
  key?: string | undefined
  /** The fingerprint of the call and of what the person is told. */
  of: string
  /** The facts that the person is told, the effect of a yes, and the words on the button. */
  facts: readonly string[]
  effect: string
  tick: string
  /** Whether it spends money, so that limits matter. */
  spends: boolean
  /** The host's name, as it says itself. */
  host?: string | undefined
  /** The run that it belongs to. */
  instanceId?: string | undefined
}

/** How long a person has to decide, and how long their yes counts from then on. */
export const heldMs = 10 * 60_000

/** How many calls of one connection may wait at a time. */
export const mostHeld = 20

export const tooManyHeld =
  'Too many calls wait for a decision already. Tell the person to decide on those first; call again when they did.'

export type Answer = 'yes' | 'no'

/** A decision as it is stored: the answer, and until when it can be given or a yes counts. */
export interface StoredDecision {
  status: 'pending' | Answer
  endsAtMs: number
}

/** The state of a decision: it `ended` if nobody decided in time, or the time of a yes is over. */
export type HeldState = StoredDecision['status'] | 'ended'

/** Returns the state of a decision at a time. A no is never over. */
export function heldState({ status, endsAtMs }: StoredDecision, nowMs: number): HeldState {
  return status === 'no' || nowMs < endsAtMs ? status : 'ended'
}

/** Returns what an answer makes of a decision; undefined: it no longer waits, so the answer changes nothing. */
export function answered(decision: StoredDecision, answer: Answer, nowMs: number): StoredDecision | undefined {
  return heldState(decision, nowMs) === 'pending' ? { status: answer, endsAtMs: nowMs + heldMs } : undefined
}

/** Returns whether two calls ask a person the same, so that one question stands for both. */
export function isSameCall(one: HeldCall, other: HeldCall): boolean {
  return one.of === other.of && one.tool === other.tool
}

/** Reads the field `decision` of a form; undefined: it holds neither answer. */
export function answerIn(sent: URLSearchParams | undefined): Answer | undefined {
  const text = sent?.get('decision')
  return text === 'yes' || text === 'no' ? text : undefined
}

/** The path of the page where a person decides. The address alone decides nothing. */
export const decisionPath = (id: string) => `/decide/${id}`

export const decisionIdPattern = /^dcn_[0-9a-f]{32}$/
