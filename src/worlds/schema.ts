import type { z } from 'zod'
import { checkWorld } from './checks.ts'
import { worldShape } from './shape.ts'

/**
 * A world file (docs/sandbox.md#worlds): all that the service is to hold when it begins. It says what happened and when;
 * the service does it again by its own rules.
 */
export const worldSchema = worldShape.superRefine(checkWorld)

export type World = z.output<typeof worldSchema>
