/** A call of a tool as it was when a person was asked about it. */
export interface HeldCall {
  tool: string
  /** As the host sent them. */
  arguments: Record<string, unknown>
  /** The key under which it is carried out; undefined where the operation takes none. */
  key?: string | undefined
  /** The fingerprint of the call and of what the person is told. */
  of: string
  /** What the person is told, one fact a line, what their yes does, and the words on the button. */
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

/** What came of it: it `ended` where nobody decided in time. */
export type HeldState = 'pending' | 'yes' | 'no' | 'ended'

/** How long a person has to decide, and how long their yes counts from then on. */
export const heldMs = 10 * 60_000

/** How many calls of one connection may wait at a time. */
export const mostHeld = 20

/** The page where a person decides. Whoever has its address only cannot decide. */
export const decisionPath = (id: string) => `/decide/${id}`

export const decisionIdPattern = /^dcn_[0-9a-f]{32}$/
