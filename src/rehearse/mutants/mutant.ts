import type { OperationKey } from '../../../tools/index.ts'
import type { Goal } from '../goal.ts'
import type { Scenario } from '../scenario.ts'
import type { Tools } from '../scripted/tools.ts'

/** The tools and the scenario that a mutant works with. */
export interface Scene {
  /** As they are, or persistent for an act after the work. */
  tools: Tools
  goal: Goal
  scenario: Scenario
  /** The orders that it placed so far, as calls name them. */
  orders: readonly OrderOf[]
}

export type OrderOf = { orderId: string; customerPartyId?: string }

export type MutantKind = 'act' | 'omission' | 'order' | 'lie'

/** An agent that is careful but for one thing, by which a judge is tested. */
export interface Mutant {
  /** Such as `pays-a-stranger`. */
  name: string
  kind: MutantKind
  /** Its fault, in words. */
  does: string
  /** The tools that it does it with. */
  by: readonly OperationKey[]
  /** Works, and answers; undefined: the scenario gives it no chance to be wrong. */
  work(scene: Scene): Promise<string | undefined>
}
