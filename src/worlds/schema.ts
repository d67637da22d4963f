import type { z } from 'zod'
import { checkWorld } from './checks.ts'
import { worldShape } from './shape.ts'

/**
 * The schema of a world file (docs/sandbox.md#worlds), which describes the initial state of the service. The file can
 * list past events, which the service replays under its usual rules.
 */
export const worldSchema = worldShape.superRefine(checkWorld)

export type World = z.output<typeof worldSchema>
