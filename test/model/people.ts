import type { Action } from './actions.ts'
import type { Planner } from './money.ts'
import { chosen, emailOf, type Invitation, invitationLifetimeMs, type State } from './state.ts'

type Of<T extends Action['type']> = Extract<Action, { type: T }>

export const invite: Planner<Of<'invite'>> = (state, { person, pick }, nowMs) => {
  // Mostly for one agent, so that one person is asked more than once.
  const agent = chosen(state.agents, pick, ({ id }) => id === state.agentId)
  if (agent === undefined) return undefined
  return {
    path: '/customers/invitations',
    by: 'party',
    attributes: {
      recipients: [{ type: 'email', value: emailOf(state, person) }],
      agents: [{ agentId: agent.id, permissions: ['payments.read'] }],
    },
    expected: agent.status === 'ACTIVE' ? 201 : 409,
    done: (data: { id: string }[]) => {
      const rest = { status: 'PENDING', cancelReason: null, expiresAtMs: nowMs + invitationLifetimeMs }
      for (const { id } of data) state.invitations.push({ id, person, agentId: agent.id, ...rest })
      const connected = grantOf(state, person, agent.id)?.status === 'ACTIVE'
      if (data.length !== (connected ? 0 : 1)) throw new Error(`Invited ${data.length} times, connected: ${connected}`)
    },
  }
}

function grantOf({ customers, grants }: State, person: number, agentId: string) {
  const customer = customers.find((one) => one.person === person)
  return grants.find((one) => one.customerId === customer?.id && one.agentId === agentId)
}

const isPending = ({ status }: Invitation) => status === 'PENDING'
const ifPending = (one: Invitation) => (isPending(one) ? 200 : 409)

export const revoke: Planner<Of<'revoke'>> = ({ invitations }, { pick }) => {
  const one = chosen(invitations, pick, isPending)
  if (one === undefined) return undefined
  const done = () => Object.assign(one, { status: 'CANCELED', cancelReason: 'DEVELOPER_REVOKED' })
  return { method: 'DELETE', path: `/customers/invitations/${one.id}`, by: 'party', expected: ifPending(one), done }
}

export const decline: Planner<Of<'decline'>> = ({ invitations }, { pick }) => {
  const one = chosen(invitations, pick, isPending)
  if (one === undefined) return undefined
  const done = () => Object.assign(one, { status: 'DECLINED' })
  const path = `/simulations/customer-invitations/${one.id}/decline`
  return { path, by: 'party', attributes: {}, expected: ifPending(one), done }
}

export const accept: Planner<Of<'accept'>> = (state, { pick }) => {
  const one = chosen(state.invitations, pick, isPending)
  if (one === undefined) return undefined
  const { person, agentId } = one
  return {
    path: `/simulations/customer-invitations/${one.id}/accept`,
    by: 'party',
    attributes: {},
    expected: ifPending(one),
    done: ({ relationships }) => {
      const { id } = relationships.customerParty.data
      if (!state.customers.some((customer) => customer.person === person)) state.customers.push({ id, person })
      const grant = grantOf(state, person, agentId)
      if (grant === undefined) state.grants.push({ customerId: id, agentId, status: 'ACTIVE' })
      else grant.status = 'ACTIVE'
      one.status = 'ACCEPTED'
      const others = state.invitations.filter((other) => other.person === person && other.agentId === agentId)
      cancelPending(others, 'CONNECTION_ESTABLISHED')
    },
  }
}

function cancelPending(invitations: Invitation[], cancelReason: string): void {
  for (const one of invitations) if (one.status === 'PENDING') Object.assign(one, { status: 'CANCELED', cancelReason })
}

export const removeCustomer: Planner<Of<'removeCustomer'>> = (state, { pick }) => {
  const customer = chosen(state.customers, pick)
  if (customer === undefined) return undefined
  const done = () => {
    for (const grant of state.grants) if (grant.customerId === customer.id) grant.status = 'REVOKED'
  }
  return { method: 'DELETE', path: `/customers/${customer.id}`, by: 'party', expected: 200, done }
}

export const createAgent: Planner<Of<'createAgent'>> = (state) => ({
  path: '/agents',
  by: 'party',
  attributes: { name: 'Clerk' },
  expected: 201,
  done: ({ id }) => state.agents.push({ id, status: 'ACTIVE' }),
})

/** Never the first one, which does the buying. */
export const deleteAgent: Planner<Of<'deleteAgent'>> = (state, { pick }) => {
  const agent = chosen(state.agents.slice(1), pick)
  if (agent === undefined) return undefined
  const done = () => {
    agent.status = 'REVOKED'
    const its = <T extends { agentId: string }>(all: T[]) => all.filter(({ agentId }) => agentId === agent.id)
    for (const one of [...its(state.agentKeys), ...its(state.grants)]) one.status = 'REVOKED'
    cancelPending(its(state.invitations), 'AGENT_RETIRED')
  }
  return { method: 'DELETE', path: `/agents/${agent.id}`, by: 'party', expected: 200, done }
}

export const createAgentKey: Planner<Of<'createAgentKey'>> = (state, { pick }) => {
  const agent = chosen(state.agents, pick)
  if (agent === undefined) return undefined
  return {
    path: '/agent-keys',
    by: 'party',
    attributes: {},
    relationships: { agent: { data: { type: 'agent', id: agent.id } } },
    expected: agent.status === 'ACTIVE' ? 201 : 409,
    done: ({ id }) => state.agentKeys.push({ id, agentId: agent.id, status: 'ACTIVE' }),
  }
}

export const createApiKey: Planner<Of<'createApiKey'>> = (state) => ({
  path: '/api-keys',
  by: 'party',
  attributes: { name: 'Spare', scopes: [] },
  expected: 201,
  done: ({ id }) => state.apiKeys.push({ id, status: 'ACTIVE' }),
})

/** Never the keys that the run itself uses. */
export const revokeAgentKey: Planner<Of<'revokeAgentKey'>> = ({ agentKeys }, { pick }) =>
  revokeKey('/agent-keys', agentKeys.slice(1), pick)
export const revokeApiKey: Planner<Of<'revokeApiKey'>> = ({ apiKeys }, { pick }) =>
  revokeKey('/api-keys', apiKeys.slice(1), pick)

function revokeKey(path: string, keys: { id: string; status: 'ACTIVE' | 'REVOKED' }[], pick: number) {
  const key = chosen(keys, pick)
  if (key === undefined) return undefined
  const done = () => {
    key.status = 'REVOKED'
  }
  return { method: 'DELETE', path: `${path}/${key.id}`, by: 'party', expected: 200, done } as const
}
