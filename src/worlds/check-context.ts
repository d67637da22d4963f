import type { Names } from './names.ts'
import type { WorldParty, WorldShape } from './shape.ts'

/** A function that reports a mistake. The path is relative to the checked party, or to the file. */
export type ReportMistake = (path: readonly PropertyKey[], message: string) => void

/** The party to check, the file that it is part of, and the function that reports the party's mistakes. */
export interface CheckContext {
  names: Names
  world: Pick<WorldShape, 'parties'>
  party: WorldParty
  index: number
  report: ReportMistake
}
