import { z } from 'zod'
import { type ErrorCode, errorTable } from '../src/core/errors.ts'
import { faultKinds, longestFaultMs } from '../src/core/faults.ts'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation, sandboxOperation } from './kinds.ts'
import { resource } from './schemas.ts'

const FaultId = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be 1 to 64 characters (a-z, 0-9, - or _), beginning with a letter')
const FaultKind = z.enum(faultKinds)
const Code = z.enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]])
const Count = z.int().min(1).max(1_000_000)

/** A fault rule, as accepted by set_sandbox_fault and in a rules file (docs/sandbox.md#faults). */
export const FaultRule = z.strictObject({
  id: FaultId.optional().describe('Name of the rule; replaces a rule of the same name'),
  operation: z
    .string()
    .regex(/^(?:\*|[a-z][a-z_]{0,63})$/, 'must be the name of an operation, or *')
    .optional()
    .describe('Name of an operation, or * for all'),
  path: z
    .string()
    .max(200)
    .regex(/^\/[^\s?#]*$/, 'must be a path such as /agent-cards/*')
    .optional()
    .describe('Path; * matches within a segment, ** across segments'),
  when: z
    .strictObject({
      nth: Count.optional().describe('Only the nth matching request'),
      every: Count.optional().describe('Every nth matching request'),
      times: Count.optional().describe('At most this many times'),
      probability: z.number().positive().max(1).optional().describe('Chance that a request gets the fault'),
      instanceId: z.string().min(1).max(1024).optional().describe('Only in this run'),
    })
    .optional()
    .describe('Conditions that must all hold'),
  fault: FaultKind.describe('Fault to inject'),
  code: Code.optional().describe('Error code, if fault is error'),
  afterMs: z.int().min(0).max(longestFaultMs).optional().describe('Delay for slow, or duration for hang'),
  seed: z.string().max(100).optional().describe('Makes probability repeatable'),
})

export type FaultRule = z.output<typeof FaultRule>

/** A fault rule in the sandbox. The counters `matched` and `hits` are null for a built-in rule. */
export const SandboxFault = resource('sandboxFault', FaultId, {
  operation: z.string().nullable(),
  path: z.string().nullable(),
  /** The merchant whose card authorizations a built-in rule affects. */
  merchant: z.string().nullable(),
  when: z.object({
    nth: Count.nullable(),
    every: Count.nullable(),
    times: Count.nullable(),
    probability: z.number().nullable(),
    instanceId: z.string().nullable(),
  }),
  fault: FaultKind,
  code: Code.nullable(),
  afterMs: z.int().nullable(),
  seed: z.string().nullable(),
  origin: z.enum(['operation', 'file', 'built_in']),
  matched: z.int().nonnegative().nullable(),
  hits: z.int().nonnegative().nullable(),
})

const fault = {
  output: SandboxFault,
  permission: 'sandbox.manage',
  toolsets: ['sandbox'],
  extension: true,
  example: {
    attributes: {
      when: { nth: 1, every: null, times: null, probability: null, instanceId: null },
      path: null,
      merchant: null,
      code: null,
      afterMs: null,
      seed: null,
      fault: 'effect_then_lost',
    },
  },
} as const

export const sandboxFaults = {
  setSandboxFault: defineOperation({
    ...fault,
    ...sandboxOperation,
    name: 'set_sandbox_fault',
    title: 'Set a sandbox fault',
    description:
      'Makes the requests of an operation or path fail on purpose: an error, a delay, no answer, a cut connection, or a change whose answer is lost. Next: list_sandbox_faults.',
    path: '/simulations/faults',
    attributes: FaultRule,
    setsState: true,
    errors: ['conflict'],
  }),

  listSandboxFaults: defineOperation({
    ...fault,
    ...readOperation,
    environments: ['sandbox'],
    result: 'several',
    name: 'list_sandbox_faults',
    title: 'List sandbox faults',
    description:
      'Lists the rules that make requests fail on purpose, in the order they apply, and how often each matched a request and injected its fault.',
    path: '/simulations/faults',
    errors: [],
  }),

  clearSandboxFaults: defineOperation({
    ...fault,
    ...sandboxOperation,
    method: 'DELETE',
    result: 'several',
    name: 'clear_sandbox_faults',
    title: 'Clear sandbox faults',
    description: 'Removes all rules that make requests fail on purpose, or one of them, and returns the removed rules.',
    path: '/simulations/faults',
    query: z.strictObject({ faultId: FaultId.optional().describe('Only this rule') }),
    errors: ['not_found'],
  }),
} as const
