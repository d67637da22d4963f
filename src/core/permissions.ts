/**
 * Who may do what (docs/service.md#credential-modes, #agent-policy, #who-may-simulate). For each permission that an
 * operation can name: the scope an API key needs (`null`: API keys never may; `any`: every key may), whether the fixed
 * agent policy allows it, what an agent must hold besides: in a customer's grant, and for cards and subscriptions on the
 * wallet of its own party too (its policy lets it read its party's wallets anyway); and the scope an OAuth grant needs
 * (`any`: every grant may; `null`: none may, for what it made would outlive it). A user may do all that is not for
 * agents only.
 */
export const permissions = {
  'identity.read': { apiKeyScope: 'any', agent: true, agentHolds: null, oauthScope: 'any' },
  'wallets.read': { apiKeyScope: 'wallets.read', agent: true, agentHolds: 'wallets.read', oauthScope: 'payments:read' },
  // The lifecycle of wallets and who may use them is never an agent's (docs/service.md#agent-policy).
  'wallets.create': { apiKeyScope: 'wallets.create', agent: false, agentHolds: null, oauthScope: null },
  'wallets.update': { apiKeyScope: 'wallets.update', agent: false, agentHolds: null, oauthScope: null },
  'wallet_agents.read': { apiKeyScope: 'wallets.read', agent: false, agentHolds: null, oauthScope: 'account:read' },
  // Who renames a wallet may not thereby let an agent spend from it: that is for who manages agents.
  'wallet_agents.manage': { apiKeyScope: 'agents.update', agent: false, agentHolds: null, oauthScope: null },
  'wallets.transfer': {
    apiKeyScope: 'wallets.transfer',
    agent: true,
    agentHolds: 'wallets.transfer',
    oauthScope: 'payments:write',
  },
  'customers.read': { apiKeyScope: 'delegations.read', agent: true, agentHolds: null, oauthScope: 'customers:read' },
  'customers.invite': {
    apiKeyScope: 'delegations.create',
    agent: true,
    agentHolds: null,
    oauthScope: 'customers:write',
  },
  'customers.remove': {
    apiKeyScope: 'delegations.delete',
    agent: false,
    agentHolds: null,
    oauthScope: 'customers:write',
  },
  'customers.simulate': {
    apiKeyScope: 'delegations.create',
    agent: true,
    agentHolds: null,
    oauthScope: 'customers:write',
  },
  'invitations.revoke': {
    apiKeyScope: 'delegations.delete',
    agent: true,
    agentHolds: null,
    oauthScope: 'customers:write',
  },
  // Whoever opens a link becomes a customer: an agent must not hand out access to itself and to others.
  'invitation_links.read': {
    apiKeyScope: 'delegations.read',
    agent: false,
    agentHolds: null,
    oauthScope: 'customers:read',
  },
  'invitation_links.create': {
    apiKeyScope: 'delegations.create',
    agent: false,
    agentHolds: null,
    oauthScope: 'customers:write',
  },
  'invitation_links.revoke': {
    apiKeyScope: 'delegations.delete',
    agent: false,
    agentHolds: null,
    oauthScope: 'customers:write',
  },
  'cards.issue': { apiKeyScope: null, agent: true, agentHolds: 'cards.read', oauthScope: 'cards:agent' },
  'cards.read': { apiKeyScope: 'cards.read', agent: true, agentHolds: 'cards.read', oauthScope: 'cards:agent' },
  // Whoever may issue or use a card may stop it (docs/service.md#frozen-cards).
  'cards.freeze': { apiKeyScope: 'payments.create', agent: true, agentHolds: 'cards.read', oauthScope: 'cards:agent' },
  'cards.simulate': {
    apiKeyScope: 'payments.create',
    agent: true,
    agentHolds: 'cards.read',
    oauthScope: 'cards:agent',
  },
  'payments.read': {
    apiKeyScope: 'payments.read',
    agent: true,
    agentHolds: 'payments.read',
    oauthScope: 'payments:read',
  },
  'payments.create': {
    apiKeyScope: 'payments.create',
    agent: true,
    agentHolds: 'payments.create',
    oauthScope: 'payments:write',
  },
  'payments.simulate': { apiKeyScope: 'payments.create', agent: true, agentHolds: null, oauthScope: 'payments:write' },
  'deposits.create': {
    apiKeyScope: 'wallets.deposit',
    agent: true,
    agentHolds: 'wallets.deposit',
    oauthScope: 'payments:write',
  },
  'withdrawals.create': {
    apiKeyScope: 'wallets.withdraw',
    agent: true,
    agentHolds: 'wallets.withdraw',
    oauthScope: 'payments:write',
  },
  'external_accounts.read': {
    apiKeyScope: 'wallets.read',
    agent: true,
    agentHolds: 'wallets.read',
    oauthScope: 'payments:read',
  },
  // Whoever links an account says where money may go: an agent does so only where a person allowed its application that.
  'external_accounts.create': {
    apiKeyScope: 'external_accounts.create',
    agent: true,
    agentHolds: 'external_accounts.create',
    oauthScope: 'external-accounts:link',
  },
  'external_accounts.delete': {
    apiKeyScope: 'external_accounts.create',
    agent: false,
    agentHolds: null,
    oauthScope: null,
  },
  // What banks and reviewers do, played in the sandbox.
  'banks.simulate': { apiKeyScope: 'payments.create', agent: true, agentHolds: null, oauthScope: 'payments:write' },
  // The reviewer decides what the party may do at all: an agent must not lift its own party's suspension.
  'compliance.simulate': { apiKeyScope: 'party.update', agent: false, agentHolds: null, oauthScope: null },
  'party.read': { apiKeyScope: 'party.read', agent: true, agentHolds: 'party.read', oauthScope: 'payments:read' },
  // Its profile and its limits are a person's: an agent must not widen what it may spend.
  'party.update': { apiKeyScope: 'party.update', agent: false, agentHolds: null, oauthScope: null },
  'members.read': { apiKeyScope: 'membership.read', agent: false, agentHolds: null, oauthScope: 'account:read' },
  'members.remove': { apiKeyScope: 'membership.delete', agent: false, agentHolds: null, oauthScope: null },
  'party_invitations.read': { apiKeyScope: 'invite.read', agent: false, agentHolds: null, oauthScope: 'account:read' },
  'party_invitations.create': { apiKeyScope: 'invite.create', agent: false, agentHolds: null, oauthScope: null },
  'party_invitations.revoke': { apiKeyScope: 'invite.delete', agent: false, agentHolds: null, oauthScope: null },
  // Which of them a credential is told depends on what it may read (src/service/operations/events.ts).
  'events.read': { apiKeyScope: 'any', agent: true, agentHolds: null, oauthScope: 'payments:read' },
  // A webhook tells another machine all that happens to the party.
  'webhooks.read': { apiKeyScope: 'party.read', agent: false, agentHolds: null, oauthScope: 'account:read' },
  'webhooks.manage': { apiKeyScope: 'party.update', agent: false, agentHolds: null, oauthScope: null },
  'wallets.fund': { apiKeyScope: 'wallets.fund', agent: true, agentHolds: null, oauthScope: 'payments:write' },
  'subscriptions.read': {
    apiKeyScope: 'payments.read',
    agent: true,
    agentHolds: 'payments.read',
    oauthScope: 'payments:read',
  },
  'subscriptions.manage': {
    apiKeyScope: 'payments.create',
    agent: true,
    agentHolds: 'payments.create',
    oauthScope: 'payments:write',
  },
  'agents.read': { apiKeyScope: 'agents.read', agent: false, agentHolds: null, oauthScope: 'account:read' },
  'agents.create': { apiKeyScope: 'agents.create', agent: false, agentHolds: null, oauthScope: null },
  'agents.update': { apiKeyScope: 'agents.update', agent: false, agentHolds: null, oauthScope: null },
  'agents.delete': { apiKeyScope: 'agents.delete', agent: false, agentHolds: null, oauthScope: null },
  // Agents' keys too: who may rename an agent may not thereby hand out a credential that moves money.
  'api_keys.read': { apiKeyScope: 'api_keys.read', agent: false, agentHolds: null, oauthScope: 'account:read' },
  'api_keys.create': { apiKeyScope: 'api_keys.create', agent: false, agentHolds: null, oauthScope: null },
  'api_keys.delete': { apiKeyScope: 'api_keys.delete', agent: false, agentHolds: null, oauthScope: null },
  'activity.read': { apiKeyScope: 'agents.read', agent: true, agentHolds: null, oauthScope: 'payments:read' },
  'clock.use': { apiKeyScope: 'any', agent: true, agentHolds: null, oauthScope: 'any' },
  // What a shop shows is for everybody; who buys may use a card.
  'shops.read': { apiKeyScope: 'any', agent: true, agentHolds: null, oauthScope: 'any' },
  'shops.buy': { apiKeyScope: 'payments.create', agent: true, agentHolds: 'cards.read', oauthScope: 'cards:agent' },
  // Only who manages the sandbox may, besides: src/service/request/manager.ts asks whose it is.
  'sandbox.manage': { apiKeyScope: 'any', agent: true, agentHolds: null, oauthScope: 'any' },
} as const satisfies Record<string, PermissionRule>

interface PermissionRule {
  apiKeyScope: Scope | 'any' | null
  agent: boolean
  agentHolds: Delegable | null
  oauthScope: OAuthScope | 'any' | null
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

/**
 * What a person can allow an application that signs in (docs/service.md#oauth-scopes), in the words of the page that
 * asks. A scope that `includes` another allows what that one does.
 */
export const oauthScopes = {
  'payments:read': { words: 'See wallets, balances, payments, subscriptions and what was done', includes: [] },
  'payments:write': {
    words: 'Make payments and transfers, and decide on approvals and subscriptions',
    includes: ['payments:read'],
  },
  'cards:agent': { words: 'Issue cards for single purchases, and use them', includes: [] },
  'external-accounts:link': { words: 'Link bank accounts that money is drawn from and paid to', includes: [] },
  'customers:read': { words: 'See your customers and invitations', includes: [] },
  'customers:write': { words: 'Invite customers and end their connections', includes: ['customers:read'] },
  // An agent's policy never allows what it opens, so a connection that acts as an agent is not given it.
  'account:read': { words: 'See your agents and keys', includes: [] },
} as const satisfies Record<string, { words: string; includes: readonly string[] }>

export type OAuthScope = keyof typeof oauthScopes

/** The scopes of a connection that asks for none. */
export const defaultOAuthScopes = ['payments:read', 'payments:write', 'cards:agent', 'customers:read'] as const

/** Scopes with those that they include. */
export function withIncluded(scopes: readonly string[]): string[] {
  const included = Object.entries(oauthScopes).flatMap(([name, { includes }]) =>
    scopes.includes(name) ? includes : [],
  )
  return [...new Set([...scopes, ...included])]
}

/** Whether the scopes of an OAuth grant allow what the permission is for. */
export function scopesAllow(granted: readonly string[], permission: Permission): boolean {
  const needed: string | null = permissions[permission].oauthScope
  return needed === 'any' || (needed !== null && withIncluded(granted).includes(needed))
}

/** What a credential acts as, and what it is limited to. */
export interface Authority {
  actorType: 'user' | 'party' | 'agent'
  /** An API key's scopes; undefined: any, where only the key is known and not what it may. */
  scopes: readonly string[] | undefined
  /** What a user allowed the application that calls; null for keys. */
  grant: { scopes: readonly string[] } | null
}

/** Whether the credential may do, somewhere, what the permission is for. Wallets and customers may ask for more. */
export function allows(authority: Authority, permission: Permission): boolean {
  return refusalOf(authority, permission) === undefined
}

/** What stands against it: the grant, the policy of agents, that only agents may, or the scopes of the key. */
export function refusalOf({ actorType, scopes, grant }: Authority, permission: Permission) {
  const { agent, apiKeyScope }: PermissionRule = permissions[permission]
  if (grant !== null && !scopesAllow(grant.scopes, permission)) return 'grant'
  if (actorType === 'agent') return agent ? undefined : 'policy'
  if (apiKeyScope === null) return 'agentsOnly'
  const isScoped = actorType === 'party' && apiKeyScope !== 'any' && scopes !== undefined
  return isScoped && !scopes.includes(apiKeyScope) ? 'scope' : undefined
}
