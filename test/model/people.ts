import { expect } from 'vitest'
import type { Planner } from './money.ts'
import { chosen, emailOf, type Invitation, newParty, type Party, thirtyDaysMs } from './state.ts'

export const invite: Planner<'invite'> = (self, { person, pick, permissions, perTransaction }, { nowMs }) => {
  // Usually invites for the party's first agent, so that the same person is often invited twice for the same agent.
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
      const expiresAtMs = nowMs + thirtyDaysMs
      const fields = { status: 'PENDING', cancelReason: null, expiresAtMs, permissions, limits }
      for (const { id } of data) self.invitations.push({ id, person, agentId: agent.id, ...fields })
      // The service creates no invitation for a person who is already connected to the agent.
      expect(data).toHaveLength(findGrant(self, person, agent.id)?.status === 'ACTIVE' ? 0 : 1)
    },
  }
}

function findGrant({ customers, grants }: Party, person: number, agentId: string) {
  const customer = customers.find((each) => each.person === person)
  return grants.find((grant) => grant.customerId === customer?.id && grant.agentId === agentId)
}

const isPending = ({ status }: Invitation) => status === 'PENDING'
const okIfPending = (invitation: Invitation) => (isPending(invitation) ? 200 : 409)

export const revoke: Planner<'revoke'> = ({ invitations }, { pick }) => {
  const invitation = chosen(invitations, pick, isPending)
  if (invitation === undefined) return undefined
  const done = () => Object.assign(invitation, { status: 'CANCELED', cancelReason: 'DEVELOPER_REVOKED' })
  const path = `/customers/invitations/${invitation.id}`
  return { method: 'DELETE', path, by: 'party', expected: okIfPending(invitation), done }
}

export const decline: Planner<'decline'> = ({ invitations }, { pick }) => {
  const invitation = chosen(invitations, pick, isPending)
  if (invitation === undefined) return undefined
  const done = () => Object.assign(invitation, { status: 'DECLINED' })
  const path = `/simulations/customer-invitations/${invitation.id}/decline`
  return { path, by: 'party', attributes: {}, expected: okIfPending(invitation), done }
}

export const accept: Planner<'accept'> = (self, { pick }, { nowMs }) => {
  const invitation = chosen(self.invitations, pick, isPending)
  if (invitation === undefined) return undefined
  const { person, agentId, permissions, limits } = invitation
  return {
    path: `/simulations/customer-invitations/${invitation.id}/accept`,
    by: 'party',
    attributes: {},
    expected: okIfPending(invitation),
    done: ({ relationships }) => {
      const { id } = relationships.customerParty.data
      const customer = self.customers.find((other) => other.person === person)
      const account = customer?.account ?? newCustomerAccount(self, id, nowMs)
      if (customer === undefined) self.customers.push({ id, person, account })
      if (agentId === self.agentId) account.limits = limits
      const granted = { status: 'ACTIVE', permissions, limits } as const
      const grant = findGrant(self, person, agentId)
      if (grant === undefined) self.grants.push({ customerId: id, agentId, ...granted })
      else Object.assign(grant, granted)
      invitation.status = 'ACCEPTED'
      const others = self.invitations.filter((other) => other.person === person && other.agentId === agentId)
      cancelPending(others, 'CONNECTION_ESTABLISHED')
    },
  }
}

/** Returns the account of a new customer. A customer has no keys, so the account has the key of the party's agent. */
function newCustomerAccount({ agentId, agentKey, side }: Party, partyId: string, nowMs: number): Party {
  return newParty({ partyId, agentId, agentKey, apiKey: agentKey, walletId: '' }, side, 0, {}, nowMs)
}

function cancelPending(invitations: Invitation[], cancelReason: string): void {
  for (const one of invitations.filter(isPending)) Object.assign(one, { status: 'CANCELED', cancelReason })
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

/** Deletes an agent, but never the first agent, because the test uses its key. */
export const deleteAgent: Planner<'deleteAgent'> = (self, { pick }) => {
  const agent = chosen(self.agents.slice(1), pick)
  if (agent === undefined) return undefined
  const done = () => {
    agent.status = 'REVOKED'
    const ofAgent = <T extends { agentId: string }>(all: T[]) => all.filter(({ agentId }) => agentId === agent.id)
    for (const record of [...ofAgent(self.agentKeys), ...ofAgent(self.grants)]) record.status = 'REVOKED'
    cancelPending(ofAgent(self.invitations), 'AGENT_RETIRED')
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

export const revokeAgentKey: Planner<'revokeAgentKey'> = ({ agentKeys }, { pick }) =>
  revokeKey('/agent-keys', agentKeys, pick)
export const revokeApiKey: Planner<'revokeApiKey'> = ({ apiKeys }, { pick }) => revokeKey('/api-keys', apiKeys, pick)

/** Revokes a key, but never the first key, because the test uses it. */
function revokeKey(path: string, keys: { id: string; status: 'ACTIVE' | 'REVOKED' }[], pick: number) {
  const key = chosen(keys.slice(1), pick)
  if (key === undefined) return undefined
  const done = () => {
    key.status = 'REVOKED'
  }
  return { method: 'DELETE', path: `${path}/${key.id}`, by: 'party', expected: 200, done } as const
}
