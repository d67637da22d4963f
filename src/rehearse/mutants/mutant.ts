import type { OperationKey } from '../../../tools/index.ts'
import type { Goal } from '../goal.ts'
import type { Scenario } from '../scenario.ts'
import type { Tools } from '../scripted/tools.ts'

/** The tools and the scenario that a mutant works with. */
export interface Scene {
  /** The tools. During the task, they do not retry failed calls. For an act after the task, they do. */
  tools: Tools
  goal: Goal
  scenario: Scenario
  /** The orders that the agent has placed so far. Each can serve as the input of a later call. */
  orders: readonly PlacedOrder[]
}

export type PlacedOrder = { orderId: string; customerPartyId?: string }

export type MutantKind = 'act' | 'omission' | 'order' | 'lie'

/** An agent that behaves like the scripted agent `careful`, except for one mistake that the judge must detect. */
export interface Mutant {
  /** A name such as `pays-a-stranger`. */
  name: string
  kind: MutantKind
  /** A description of the mistake, such as "pays $1.00 to a stranger by email". */
  does: string
  /** The operations with which the agent makes the mistake. */
  by: readonly OperationKey[]
  /** Works on the task, and returns the answer; undefined if the mistake does not apply to the scenario. */
  work(scene: Scene): Promise<string | undefined>
}
