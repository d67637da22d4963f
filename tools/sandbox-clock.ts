import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation, sandboxOperation } from './kinds.ts'
import { resource, Timestamp } from './schemas.ts'

/** The sandbox clock. It decides when cards expire, when holds end, and when idempotency keys are forgotten. */
export const Clock = resource('clock', z.literal('clock'), { now: Timestamp })

/** The maximum number of seconds in one call: about ten years. It limits the work that one call can cause. */
const longestAdvanceSeconds = 10 * 366 * 24 * 60 * 60

const clock = {
  output: Clock,
  permission: 'clock.use',
  toolsets: ['sandbox'],
  extension: true,
} as const

export const sandboxClock = {
  getSandboxClock: defineOperation({
    ...clock,
    ...readOperation,
    environments: ['sandbox'],
    name: 'get_sandbox_clock',
    title: 'Read the sandbox clock',
    description: "Reads the sandbox's time, which differs from real time once advance_sandbox_clock has moved it.",
    path: '/simulations/clock',
    errors: [],
  }),

  advanceSandboxClock: defineOperation({
    ...clock,
    ...sandboxOperation,
    effect: 'destructive',
    name: 'advance_sandbox_clock',
    title: 'Advance the sandbox clock',
    description:
      "Moves the sandbox's time forward for everyone, by seconds or to a time: cards expire, holds are released, subscriptions are charged. It never moves back.",
    path: '/simulations/clock/advance',
    attributes: z.strictObject({
      seconds: z.int().positive().max(longestAdvanceSeconds).describe('Seconds to add').optional(),
      to: Timestamp.describe('Later than the sandbox clock').optional(),
    }),
    errors: [],
  }),
} as const
