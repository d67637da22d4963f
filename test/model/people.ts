import { expect } from 'vitest'
import type { Planner } from './money.ts'
import { chosen, emailOf, type Invitation, monthOfDaysMs, newParty, type Party } from './state.ts'

export const invite: Planner<'invite'> = (self, { person, pick, permissions, perTransaction }, { nowMs }) => {
  // Most invitations are for one agent, so that the same person is invited more than once.
  const agent = chosen(self.agents, pick, ({ id }) => id === self.agentId)
  if (agent === undefined) return undefined
  const limits = perTransaction === undefined ? {} : { perTransaction }
  return {
    path: '/customers/invitations',
    by: 'party',
    attributes: {
      recipients: [{ type: 'email', value: emailOf(self, person) }],
      agents: [{ agentId: agent.id, permissions, limits }],
    },
    expected: agent.status === 'ACTIVE' ? 201 : 409,
    done: (data: { id: string }[]) => {
      const expiresAtMs = nowMs + monthOfDaysMs
      const rest = { status: 'PENDING', cancelReason: null, expiresAtMs, permissions, limits }
      for (const { id } of data) self.invitations.push({ id, person, agentId: agent.id, ...rest })
      // A customer that is connected already is not invited again.
      expect(data).toHaveLength(grantOf(self, person, agent.id)?.status === 'ACTIVE' ? 0 : 1)
    },
  }
}

function grantOf({ customers, grants }: Party, person: number, agentId: string) {
  const customer = customers.find((one) => one.person === person)
  return grants.find((one) => one.customerId === customer?.id && one.agentId === agentId)
}

const isPending = ({ status }: Invitation) => status === 'PENDING'
const ifPending = (one: Invitation) => (isPending(one) ? 200 : 409)

export const revoke: Planner<'revoke'> = ({ invitations }, { pick }) => {
  const one = chosen(invitations, pick, isPending)
  if (one === undefined) return undefined
  const done = () => Object.assign(one, { status: 'CANCELED', cancelReason: 'DEVELOPER_REVOKED' })
  return { method: 'DELETE', path: `/customers/invitations/${one.id}`, by: 'party', expected: ifPending(one), done }
}

export const decline: Planner<'decline'> = ({ invitations }, { pick }) => {
  const one = chosen(invitations, pick, isPending)
  if (one === undefined) return undefined
  const done = () => Object.assign(one, { status: 'DECLINED' })
  const path = `/simulations/customer-invitations/${one.id}/decline`
  return { path, by: 'party', attributes: {}, expected: ifPending(one), done }
}

export const accept: Planner<'accept'> = (self, { pick }, { nowMs }) => {
  const one = chosen(self.invitations, pick, isPending)
  if (one === undefined) return undefined
  const { person, agentId, permissions, limits } = one
  return {
    path: `/simulations/customer-invitations/${one.id}/accept`,
    by: 'party',
    attributes: {},
    expected: ifPending(one),
    done: ({ relationships }) => {
      const { id } = relationships.customerParty.data
      const customer = self.customers.find((other) => other.person === person)
      const account = customer?.account ?? customerAccount(self, id, nowMs)
      if (customer === undefined) self.customers.push({ id, person, account })
      if (agentId === self.agentId) account.limits = limits
      const granted = { status: 'ACTIVE', permissions, limits } as const
      const grant = grantOf(self, person, agentId)
      if (grant === undefined) self.grants.push({ customerId: id, agentId, ...granted })
      else Object.assign(grant, granted)
      one.status = 'ACCEPTED'
      const others = self.invitations.filter((other) => other.person === person && other.agentId === agentId)
      cancelPending(others, 'CONNECTION_ESTABLISHED')
    },
  }
}

/** Returns the account of a customer without credentials. The party's agent acts on it with the agent's key. */
function customerAccount({ agentId, agentKey, side }: Party, partyId: string, nowMs: number): Party {
  return newParty({ partyId, agentId, agentKey, apiKey: agentKey, walletId: '' }, side, 0, {}, nowMs)
}

function cancelPending(invitations: Invitation[], cancelReason: string): void {
  for (const one of invitations) if (one.status === 'PENDING') Object.assign(one, { status: 'CANCELED', cancelReason })
}

export const removeCustomer: Planner<'removeCustomer'> = (self, { pick }) => {
  const customer = chosen(self.customers, pick)
  if (customer === undefined) return undefined
  const done = () => {
    for (const grant of self.grants) if (grant.customerId === customer.id) grant.status = 'REVOKED'
  }
  return { method: 'DELETE', path: `/customers/${customer.id}`, by: 'party', expected: 200, done }
}

export const createAgent: Planner<'createAgent'> = (self) => ({
  path: '/agents',
  by: 'party',
  attributes: { name: 'Clerk' },
  expected: 201,
  done: ({ id }) => self.agents.push({ id, status: 'ACTIVE' }),
})

/** Deletes an agent, but never the first one, which makes the purchases. */
export const deleteAgent: Planner<'deleteAgent'> = (self, { pick }) => {
  const agent = chosen(self.agents.slice(1), pick)
  if (agent === undefined) return undefined
  const done = () => {
    agent.status = 'REVOKED'
    const its = <T extends { agentId: string }>(all: T[]) => all.filter(({ agentId }) => agentId === agent.id)
    for (const one of [...its(self.agentKeys), ...its(self.grants)]) one.status = 'REVOKED'
    cancelPending(its(self.invitations), 'AGENT_RETIRED')
  }
  return { method: 'DELETE', path: `/agents/${agent.id}`, by: 'party', expected: 200, done }
}

export const createAgentKey: Planner<'createAgentKey'> = (self, { pick }) => {
  const agent = chosen(self.agents, pick)
  if (agent === undefined) return undefined
  return {
    path: '/agent-keys',
    by: 'party',
    attributes: {},
    relationships: { agent: { data: { type: 'agent', id: agent.id } } },
    expected: agent.status === 'ACTIVE' ? 201 : 409,
    done: ({ id }) => self.agentKeys.push({ id, agentId: agent.id, status: 'ACTIVE' }),
  }
}

export const createApiKey: Planner<'createApiKey'> = (self) => ({
  path: '/api-keys',
  by: 'party',
  attributes: { name: 'Spare', scopes: [] },
  expected: 201,
  done: ({ id }) => self.apiKeys.push({ id, status: 'ACTIVE' }),
})

/** Revokes a key, but never one that the run itself uses. */
export const revokeAgentKey: Planner<'revokeAgentKey'> = ({ agentKeys }, { pick }) =>
  revokeKey('/agent-keys', agentKeys.slice(1), pick)
export const revokeApiKey: Planner<'revokeApiKey'> = ({ apiKeys }, { pick }) =>
  revokeKey('/api-keys', apiKeys.slice(1), pick)

function revokeKey(path: string, keys: { id: string; status: 'ACTIVE' | 'REVOKED' }[], pick: number) {
  const key = chosen(keys, pick)
  if (key === undefined) return undefined
  const done = () => {
    key.status = 'REVOKED'
  }
  return { method: 'DELETE', path: `${path}/${key.id}`, by: 'party', expected: 200, done } as const
}
