/**
 * Who may do what (spec: Credential modes, Agent keys, Who may simulate). For each permission that an operation can
 * name: the scope an API key needs (`null`: API keys never may; `any`: every key may), whether the fixed agent policy
 * allows it, and what an agent must hold besides: in a customer's grant, and for cards and subscriptions on the wallet of
 * its own party too (its policy lets it read its party's wallets anyway). A user may do all that is not for agents only.
 */
export const permissions = {
  'identity.read': { apiKeyScope: 'any', agent: true, agentHolds: null },
  'wallets.read': { apiKeyScope: 'wallets.read', agent: true, agentHolds: 'wallets.read' },
  // The lifecycle of wallets and who may use them is never an agent's, whatever it holds (spec: Agent keys).
  'wallets.create': { apiKeyScope: 'wallets.create', agent: false, agentHolds: null },
  'wallets.update': { apiKeyScope: 'wallets.update', agent: false, agentHolds: null },
  'wallet_agents.read': { apiKeyScope: 'wallets.read', agent: false, agentHolds: null },
  'wallets.transfer': { apiKeyScope: 'wallets.transfer', agent: true, agentHolds: 'wallets.transfer' },
  'customers.read': { apiKeyScope: 'delegations.read', agent: true, agentHolds: null },
  'customers.invite': { apiKeyScope: 'delegations.create', agent: true, agentHolds: null },
  'customers.remove': { apiKeyScope: 'delegations.delete', agent: false, agentHolds: null },
  'customers.simulate': { apiKeyScope: 'delegations.create', agent: true, agentHolds: null },
  'invitations.revoke': { apiKeyScope: 'delegations.delete', agent: true, agentHolds: null },
  // Whoever opens a link becomes a customer: an agent must not hand out access to itself and to others.
  'invitation_links.read': { apiKeyScope: 'delegations.read', agent: false, agentHolds: null },
  'invitation_links.create': { apiKeyScope: 'delegations.create', agent: false, agentHolds: null },
  'invitation_links.revoke': { apiKeyScope: 'delegations.delete', agent: false, agentHolds: null },
  'cards.issue': { apiKeyScope: null, agent: true, agentHolds: 'cards.read' },
  'cards.read': { apiKeyScope: 'cards.read', agent: true, agentHolds: 'cards.read' },
  'cards.simulate': { apiKeyScope: 'payments.create', agent: true, agentHolds: 'cards.read' },
  'payments.read': { apiKeyScope: 'payments.read', agent: true, agentHolds: 'payments.read' },
  'payments.create': { apiKeyScope: 'payments.create', agent: true, agentHolds: 'payments.create' },
  'payments.simulate': { apiKeyScope: 'payments.create', agent: true, agentHolds: null },
  'wallets.fund': { apiKeyScope: 'wallets.fund', agent: true, agentHolds: null },
  'subscriptions.read': { apiKeyScope: 'payments.read', agent: true, agentHolds: 'payments.read' },
  'subscriptions.manage': { apiKeyScope: 'payments.create', agent: true, agentHolds: 'payments.create' },
  'agents.read': { apiKeyScope: 'agents.read', agent: false, agentHolds: null },
  'agents.create': { apiKeyScope: 'agents.create', agent: false, agentHolds: null },
  'agents.update': { apiKeyScope: 'agents.update', agent: false, agentHolds: null },
  'agents.delete': { apiKeyScope: 'agents.delete', agent: false, agentHolds: null },
  // Agents' keys too: who may rename an agent may not thereby hand out a credential that moves money.
  'api_keys.read': { apiKeyScope: 'api_keys.read', agent: false, agentHolds: null },
  'api_keys.create': { apiKeyScope: 'api_keys.create', agent: false, agentHolds: null },
  'api_keys.delete': { apiKeyScope: 'api_keys.delete', agent: false, agentHolds: null },
  'activity.read': { apiKeyScope: 'agents.read', agent: true, agentHolds: null },
  'clock.use': { apiKeyScope: 'any', agent: true, agentHolds: null },
} as const satisfies Record<string, PermissionRule>

interface PermissionRule {
  apiKeyScope: Scope | 'any' | null
  agent: boolean
  agentHolds: Delegable | null
}

export type Permission = keyof typeof permissions

/** What both a customer can grant an agent and an API key can be limited to. */
const common = [
  'payments.read',
  'payments.create',
  'external_parties.read',
  'external_parties.create',
  'direct.read',
  'direct.create',
  'external_accounts.create',
  'wallets.read',
  'wallets.balance',
  'wallets.create',
  'wallets.update',
  'wallets.fund',
  'wallets.deposit',
  'wallets.transfer',
  'wallets.withdraw',
  'party.read',
  'party.update',
  'cards.read',
] as const

/** What a customer can grant an agent, and an agent can hold on a wallet. */
export const delegable = [...common, 'payment_intents.create'] as const

export type Delegable = (typeof delegable)[number]

/** The scopes an API key can be limited to. */
export const scopes = [
  ...common,
  'invite.read',
  'invite.create',
  'invite.update',
  'invite.delete',
  'membership.create',
  'membership.read',
  'membership.update',
  'membership.delete',
  'wallets.delete',
  'delegations.read',
  'delegations.create',
  'delegations.update',
  'delegations.delete',
  'api_keys.read',
  'api_keys.create',
  'api_keys.delete',
  'agents.read',
  'agents.create',
  'agents.update',
  'agents.delete',
  'disputes.read',
  'disputes.create',
] as const

export type Scope = (typeof scopes)[number]
