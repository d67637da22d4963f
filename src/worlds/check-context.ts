import type { Names } from './names.ts'
import type { WorldParty, WorldShape } from './shape.ts'

/** A function that reports a mistake. The path is relative to the part that is checked: a party, or the whole file. */
export type ReportMistake = (path: readonly PropertyKey[], message: string) => void

/** A party to check, the world file that contains it, and the function that reports mistakes in the party. */
export interface CheckContext {
  names: Names
  world: Pick<WorldShape, 'parties'>
  party: WorldParty
  index: number
  report: ReportMistake
}
