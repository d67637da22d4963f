import { type Action, isInvited, type PartyName, type Tool } from '../action.ts'
import type { CustomerFacts, Facts, InvitationFacts } from '../facts.ts'
import {
  conflict,
  dayMs,
  type ModelCustomer,
  type ModelInvitation,
  madeBy,
  notFound,
  pageOf,
  type Rule,
  refused,
  type State,
} from './state.ts'

/** How long an invitation waits for its answer: in general, and as an agent's own list of customers makes it. */
const usualDays = 30
const agentsDays = 7

export const customerRules: Readonly<Record<string, Rule>> = {
  simulate_customer_invitation: (state, action) => {
    const name = invitedBy(action)
    state.wallets.set(name, { available: 0, total: 0 })
    state.customers.set(name, { name, grant: undefined })
    return pageOf([invitationFacts(invite(state, action, usualDays))])
  },
  create_agent_customer_invitation: (state, action) => {
    // Who is connected already is not asked again.
    if (state.customers.get(invitedBy(action))?.grant?.active === true) return pageOf([])
    const { name, status, permissions, limit, days } = invite(state, action, agentsDays)
    const customer = invitedBy(action)
    return pageOf([
      { type: 'agentInvitation', name, status, to: customer, permissions: permissions.join(), limit, days },
    ])
  },
  simulate_invitation_acceptance: (state, action) =>
    answer(state, action, 'ACCEPTED', (invitation) => {
      const { permissions, limit } = invitation
      const customer = state.customers.get(invitation.customer)
      if (customer !== undefined) customer.grant = { permissions, limit, active: true }
      // What else the customer was asked for the same agent is settled with it.
      for (const other of state.invitations.values()) {
        if (other.customer !== invitation.customer || other.status !== 'PENDING') continue
        other.status = 'CANCELED'
        other.reason = 'CONNECTION_ESTABLISHED'
      }
    }),
  simulate_invitation_decline: (state, action) => answer(state, action, 'DECLINED'),
  revoke_customer_invitation: (state, action) => answer(state, action, 'CANCELED'),
  revoke_agent_invitation: (state, action) => answer(state, action, 'CANCELED'),
  get_customer: (state, action) => onCustomer(state, action, customerFacts),
  simulate_agent_revocation: (state, action) =>
    onCustomer(state, action, (customer) => {
      if (customer.grant !== undefined) customer.grant.active = false
      return customerFacts(customer)
    }),
}

/** The permission that each tool needs of a customer's grant (docs/service.md#acting-for-a-customer). */
const needed: Partial<Record<Tool, string>> = {
  list_wallets: 'wallets.read',
  create_payment: 'payments.create',
  cancel_payment: 'payments.create',
  get_payment: 'payments.read',
  list_payments: 'payments.read',
  get_approval: 'payments.read',
  list_approvals: 'payments.read',
  list_transfers: 'wallets.read',
  get_transfer: 'wallets.read',
  list_external_accounts: 'wallets.read',
  get_external_account: 'wallets.read',
  link_external_accounts: 'external_accounts.create',
  create_deposit: 'wallets.deposit',
  create_withdrawal: 'wallets.withdraw',
  create_payment_request: 'payments.create',
  fulfill_payment_request: 'payments.create',
  decline_payment_request: 'payments.create',
  cancel_payment_request: 'payments.create',
  get_payment_request: 'payments.read',
  list_payment_requests: 'payments.read',
  list_incoming_payment_requests: 'payments.read',
  create_subscription: 'payments.create',
  cancel_subscription: 'payments.create',
  resume_subscription: 'payments.create',
  mark_subscription_payment_paid: 'payments.create',
  simulate_subscription_checkout: 'payments.create',
  simulate_subscription_card: 'payments.create',
  get_subscription: 'payments.read',
  list_subscriptions: 'payments.read',
  list_subscription_payments: 'payments.read',
}

/** Why the agent may not act for the party; undefined where it may. No key remembers it. */
export function refusedAtTheGate(
  { customers }: State,
  { party, tool }: Pick<Action, 'party' | 'tool'>,
): Facts | undefined {
  if (!isInvited(party)) return undefined
  const grant = customers.get(party)?.grant
  const permission = needed[tool]
  if (permission === undefined) throw new Error(`Bug: the model knows no permission for ${tool}.`)
  if (grant?.active === true && grant.permissions.includes(permission)) return undefined
  const isRead = tool.startsWith('get_') || tool.startsWith('list_')
  return refused('forbidden', 403, isRead ? null : '/data/attributes/customerPartyId')
}

function invite(state: State, action: Action, days: number): ModelInvitation {
  const { permissions = [], limit = null } = action
  const made: ModelInvitation = {
    name: madeBy(action),
    customer: invitedBy(action),
    status: 'PENDING',
    reason: null,
    permissions,
    limit,
    days,
    expiresAtMs: state.nowMs + days * dayMs,
  }
  state.invitations.set(made.name, made)
  return made
}

/** Only a pending invitation changes, and then for good (docs/service.md#invitation-status). */
function answer(
  state: State,
  { subject }: Action,
  status: ModelInvitation['status'],
  also: (invitation: ModelInvitation) => void = () => {},
): Facts {
  const found = state.invitations.get(subject ?? '')
  if (found === undefined) return notFound
  if (found.status !== 'PENDING') return conflict
  found.status = status
  if (status === 'CANCELED') found.reason = 'DEVELOPER_REVOKED'
  also(found)
  return invitationFacts(found)
}

export function expireInvitations({ invitations, nowMs }: State): void {
  for (const invitation of invitations.values()) {
    if (invitation.status === 'PENDING' && invitation.expiresAtMs <= nowMs) invitation.status = 'EXPIRED'
  }
}

/** A customer that never granted anything does not exist for the agent. */
function onCustomer({ customers }: State, { subject }: Action, rule: (found: ModelCustomer) => Facts): Facts {
  const found = customers.get(subject ?? '')
  return found?.grant === undefined ? notFound : rule(found)
}

function invitedBy({ invites, tool }: Action): PartyName {
  if (invites === undefined) throw new Error(`Bug: ${tool} names nobody to invite.`)
  return invites
}

export function invitationFacts(invitation: ModelInvitation): InvitationFacts {
  const { name, status, reason, customer, permissions, limit, days } = invitation
  return {
    type: 'invitation',
    name,
    status,
    permissions: permissions.join(),
    limit,
    days,
    reason,
    customer: status === 'ACCEPTED' ? customer : null,
  }
}

export function customerFacts({ name, grant }: ModelCustomer): CustomerFacts {
  const { permissions = [], limit = null, active = false } = grant ?? {}
  return { type: 'customer', name, status: active ? 'ACTIVE' : 'REVOKED', permissions: permissions.join(), limit }
}
