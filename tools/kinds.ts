/** The members that operations of one kind share; an operation spreads its kind, and then says what it has otherwise. */

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

/** Moves money: an agent names its run. */
export const paying = { ...writing, instanceId: 'agents', effect: 'destructive' } as const

/** Manages the sandbox: a repeat finds it done. */
export const managing = { ...writing, environments: ['sandbox'], idempotency: 'ignored' } as const

/** Plays somebody else's part in the sandbox. */
export const simulating = { ...writing, environments: ['sandbox'], instanceId: 'agents' } as const
