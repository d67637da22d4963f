import type { Names } from './names.ts'
import type { WorldParty, WorldShape } from './shape.ts'

/** Tells what is wrong at a path below the one that is looked at. */
export type Tell = (path: readonly PropertyKey[], message: string) => void

/** The party being checked, and the function that reports its mistakes. */
export interface Looked {
  names: Names
  world: Pick<WorldShape, 'parties'>
  party: WorldParty
  index: number
  tell: Tell
}
