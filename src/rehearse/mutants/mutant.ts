import type { OperationKey } from '../../../tools/index.ts'
import type { Goal } from '../goal.ts'
import type { Scenario } from '../scenario.ts'
import type { Tools } from '../scripted/tools.ts'

/** The tools and the scenario that a mutant works with. */
export interface Scene {
  /** Plain tools for the task itself, and persistent tools for an act after it. */
  tools: Tools
  goal: Goal
  scenario: Scenario
  /** The orders placed so far, as arguments of further calls. */
  orders: readonly PlacedOrder[]
}

export type PlacedOrder = { orderId: string; customerPartyId?: string }

export type MutantKind = 'act' | 'omission' | 'order' | 'lie'

/** An agent that is careful except for one mistake, which tests the judge. */
export interface Mutant {
  /** A name such as `pays-a-stranger`. */
  name: string
  kind: MutantKind
  /** The agent's mistake, in words. */
  does: string
  /** The operations with which the agent makes the mistake. */
  by: readonly OperationKey[]
  /** Works on the task, and returns the answer; undefined if the mistake does not apply to the scenario. */
  work(scene: Scene): Promise<string | undefined>
}
