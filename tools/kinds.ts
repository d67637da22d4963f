/**
 * Each constant has the members that operations of one kind share. An operation spreads its kind and then overrides
 * individual members.
 */

const everywhere = ['sandbox', 'production'] as const

export const reading = {
  method: 'GET',
  environments: everywhere,
  result: 'one',
  idempotency: 'ignored',
  instanceId: 'optional',
  effect: 'read',
} as const

export const writing = {
  method: 'POST',
  environments: everywhere,
  result: 'one',
  idempotency: 'required',
  instanceId: 'optional',
  effect: 'write',
} as const

export const removing = { ...writing, method: 'DELETE', effect: 'destructive' } as const

/** Operations that move money; an agent must name its run. */
export const paying = { ...writing, instanceId: 'agents', effect: 'destructive' } as const

/** Operations that manage the sandbox; repeating one has no further effect. */
export const managing = { ...writing, environments: ['sandbox'], idempotency: 'ignored' } as const

/** Operations that simulate another participant in the sandbox. */
export const simulating = { ...writing, environments: ['sandbox'], instanceId: 'agents' } as const
