import type { Names } from './names.ts'
import type { WorldParty, WorldShape } from './shape.ts'

/** Reports a mistake at a path below the current one. */
export type ReportMistake = (path: readonly PropertyKey[], message: string) => void

/** The party being checked, and the function that reports its mistakes. */
export interface CheckContext {
  names: Names
  world: Pick<WorldShape, 'parties'>
  party: WorldParty
  index: number
  report: ReportMistake
}
