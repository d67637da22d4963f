import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { resource, Timestamp } from './schemas.ts'

/** The sandbox's clock: it drives card expiry, holds and replay windows, and only moves forward. */
export const Clock = resource('clock', z.literal('clock'), { now: Timestamp })

/** Ten years: far enough for any rehearsal, and a bound on the work one call can cause. */
const longestAdvanceSeconds = 10 * 366 * 24 * 60 * 60

const clock = {
  output: Clock,
  result: 'one',
  environments: ['sandbox'],
  permission: 'clock.use',
  idempotency: 'ignored',
  instanceId: 'optional',
  toolsets: ['sandbox'],
  extension: true,
} as const

export const sandboxClock = {
  getSandboxClock: defineOperation({
    ...clock,
    name: 'get_sandbox_clock',
    title: 'Read the sandbox clock',
    description: "Reads the sandbox's time, which differs from real time once advance_sandbox_clock moved it.",
    method: 'GET',
    path: '/simulations/clock',
    effect: 'read',
    errors: [],
  }),

  advanceSandboxClock: defineOperation({
    ...clock,
    name: 'advance_sandbox_clock',
    title: 'Advance the sandbox clock',
    description:
      "Moves the sandbox's time forward for everybody, by seconds or to a time (one of the two): cards expire, holds lapse, subscriptions are charged. It never goes back.",
    method: 'POST',
    path: '/simulations/clock/advance',
    attributes: z.strictObject({
      seconds: z.int().positive().max(longestAdvanceSeconds).describe('How far').optional(),
      to: Timestamp.describe('Later than now').optional(),
    }),
    effect: 'destructive',
    errors: [],
  }),
} as const
