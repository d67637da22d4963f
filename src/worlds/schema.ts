import type { z } from 'zod'
import { checkWorld } from './checks.ts'
import { worldShape } from './shape.ts'

/**
 * A world file (docs/sandbox.md#worlds): the initial state of the service. It lists past events, which the service
 * replays under its usual rules.
 */
export const worldSchema = worldShape.superRefine(checkWorld)

export type World = z.output<typeof worldSchema>
