/**
 * Each constant below contains the usual members of one kind of operation. The definition of an operation spreads the
 * constant of its kind, and then overrides the members that differ.
 */

const allEnvironments = ['sandbox', 'production'] as const

export const readOperation = {
  method: 'GET',
  environments: allEnvironments,
  result: 'one',
  idempotency: 'ignored',
  instanceId: 'optional',
  effect: 'read',
} as const

export const writeOperation = {
  method: 'POST',
  environments: allEnvironments,
  result: 'one',
  idempotency: 'required',
  instanceId: 'optional',
  effect: 'write',
} as const

export const deleteOperation = { ...writeOperation, method: 'DELETE', effect: 'destructive' } as const

/** Operations that move money. To use them, an agent must state its run (X-Instance-ID). */
export const paymentOperation = { ...writeOperation, instanceId: 'agents', effect: 'destructive' } as const

/** Operations that manage the sandbox. They ignore the Idempotency-Key header. */
export const sandboxOperation = { ...writeOperation, environments: ['sandbox'], idempotency: 'ignored' } as const

/** Operations of the sandbox that simulate the world outside the service, such as a payer, a bank or a shop. */
export const simulationOperation = { ...writeOperation, environments: ['sandbox'], instanceId: 'agents' } as const
