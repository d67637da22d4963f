import type { Names } from './names.ts'
import type { WorldParty, WorldShape } from './shape.ts'

/** Tells what is wrong at a path below the one that is looked at. */
export type Tell = (path: readonly PropertyKey[], message: string) => void

/** What is looked at: a party of the world, and whoever is told of mistakes in it. */
export interface Looked {
  names: Names
  world: Pick<WorldShape, 'parties'>
  party: WorldParty
  index: number
  tell: Tell
}
