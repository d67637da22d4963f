/**
 * The permissions that operations require, and the conditions under which each kind of credential has them
 * (docs/service.md#credential-modes, #agent-policy, #who-may-simulate). `any` means without a condition, and `null`
 * means never.
 * - An API key needs a scope.
 * - An agent needs the permission in the fixed agent policy. To act for a customer, it also needs the permission in the
 *   customer's grant. For its own party's cards and subscriptions, it also needs the permission on the wallet. It may
 *   always read its party's wallets.
 * - An OAuth grant needs a scope. It never allows anything that would outlive the grant.
 * - A user may do everything except what only agents may do.
 */
export const permissions = {
  'identity.read': { apiKey: 'any', agent: 'any', oauth: 'any' },
  'wallets.read': { apiKey: 'wallets.read', agent: 'wallets.read', oauth: 'payments:read' },
  // An agent never controls the lifecycle of wallets or who may use them (docs/service.md#agent-policy).
  'wallets.create': { apiKey: 'wallets.create', agent: null, oauth: null },
  'wallets.update': { apiKey: 'wallets.update', agent: null, oauth: null },
  'wallet_agents.read': { apiKey: 'wallets.read', agent: null, oauth: 'account:read' },
  // Permission to rename a wallet must not include deciding which agents may spend from it, so this needs permission
  // to manage agents.
  'wallet_agents.manage': { apiKey: 'agents.update', agent: null, oauth: null },
  'wallets.transfer': { apiKey: 'wallets.transfer', agent: 'wallets.transfer', oauth: 'payments:write' },
  'customers.read': { apiKey: 'delegations.read', agent: 'any', oauth: 'customers:read' },
  'customers.invite': { apiKey: 'delegations.create', agent: 'any', oauth: 'customers:write' },
  'customers.remove': { apiKey: 'delegations.delete', agent: null, oauth: 'customers:write' },
  'customers.simulate': { apiKey: 'delegations.create', agent: 'any', oauth: 'customers:write' },
  'invitations.revoke': { apiKey: 'delegations.delete', agent: 'any', oauth: 'customers:write' },
  // Anyone who opens a link becomes a customer, and an agent must not give others access to itself.
  'invitation_links.read': { apiKey: 'delegations.read', agent: null, oauth: 'customers:read' },
  'invitation_links.create': { apiKey: 'delegations.create', agent: null, oauth: 'customers:write' },
  'invitation_links.revoke': { apiKey: 'delegations.delete', agent: null, oauth: 'customers:write' },
  'cards.issue': { apiKey: null, agent: 'cards.read', oauth: 'cards:agent' },
  'cards.read': { apiKey: 'cards.read', agent: 'cards.read', oauth: 'cards:agent' },
  // A caller that may issue or use a card may also freeze it (docs/service.md#frozen-cards).
  'cards.freeze': { apiKey: 'payments.create', agent: 'cards.read', oauth: 'cards:agent' },
  'cards.simulate': { apiKey: 'payments.create', agent: 'cards.read', oauth: 'cards:agent' },
  'payments.read': { apiKey: 'payments.read', agent: 'payments.read', oauth: 'payments:read' },
  'payments.create': { apiKey: 'payments.create', agent: 'payments.create', oauth: 'payments:write' },
  'payments.simulate': { apiKey: 'payments.create', agent: 'any', oauth: 'payments:write' },
  'deposits.create': { apiKey: 'wallets.deposit', agent: 'wallets.deposit', oauth: 'payments:write' },
  'withdrawals.create': { apiKey: 'wallets.withdraw', agent: 'wallets.withdraw', oauth: 'payments:write' },
  'external_accounts.read': { apiKey: 'wallets.read', agent: 'wallets.read', oauth: 'payments:read' },
  // A linked account is a place that money may go to, so an application may link one only if a person granted that.
  'external_accounts.create': {
    apiKey: 'external_accounts.create',
    agent: 'external_accounts.create',
    oauth: 'external-accounts:link',
  },
  'external_accounts.delete': { apiKey: 'external_accounts.create', agent: null, oauth: null },
  // In the sandbox, a caller can trigger the decisions that banks and reviewers make in production.
  'banks.simulate': { apiKey: 'payments.create', agent: 'any', oauth: 'payments:write' },
  // Compliance reviews can suspend a party, and an agent must not lift its own party's suspension.
  'compliance.simulate': { apiKey: 'party.update', agent: null, oauth: null },
  'party.read': { apiKey: 'party.read', agent: 'party.read', oauth: 'payments:read' },
  // Only a person changes the profile and the limits, because an agent must not raise its own spending limits.
  'party.update': { apiKey: 'party.update', agent: null, oauth: null },
  'members.read': { apiKey: 'membership.read', agent: null, oauth: 'account:read' },
  'members.remove': { apiKey: 'membership.delete', agent: null, oauth: null },
  'party_invitations.read': { apiKey: 'invite.read', agent: null, oauth: 'account:read' },
  'party_invitations.create': { apiKey: 'invite.create', agent: null, oauth: null },
  'party_invitations.revoke': { apiKey: 'invite.delete', agent: null, oauth: null },
  // The events that a credential sees depend on what it may read (src/service/operations/events.ts).
  'events.read': { apiKey: 'any', agent: 'any', oauth: 'payments:read' },
  // A webhook sends everything that happens to the party to another machine.
  'webhooks.read': { apiKey: 'party.read', agent: null, oauth: 'account:read' },
  'webhooks.manage': { apiKey: 'party.update', agent: null, oauth: null },
  'wallets.fund': { apiKey: 'wallets.fund', agent: 'any', oauth: 'payments:write' },
  'subscriptions.read': { apiKey: 'payments.read', agent: 'payments.read', oauth: 'payments:read' },
  'subscriptions.manage': { apiKey: 'payments.create', agent: 'payments.create', oauth: 'payments:write' },
  'agents.read': { apiKey: 'agents.read', agent: null, oauth: 'account:read' },
  'agents.create': { apiKey: 'agents.create', agent: null, oauth: null },
  'agents.update': { apiKey: 'agents.update', agent: null, oauth: null },
  'agents.delete': { apiKey: 'agents.delete', agent: null, oauth: null },
  // These permissions also cover agents' keys, because permission to rename an agent must not be enough to create a
  // credential that moves money.
  'api_keys.read': { apiKey: 'api_keys.read', agent: null, oauth: 'account:read' },
  'api_keys.create': { apiKey: 'api_keys.create', agent: null, oauth: null },
  'api_keys.delete': { apiKey: 'api_keys.delete', agent: null, oauth: null },
  // Only the party's owners decide which applications act for it, and until when. An application may not create
  // another application.
  'applications.read': { apiKey: 'applications.read', agent: null, oauth: null },
  'applications.manage': { apiKey: 'applications.manage', agent: null, oauth: null },
  'activity.read': { apiKey: 'agents.read', agent: 'any', oauth: 'payments:read' },
  'clock.use': { apiKey: 'any', agent: 'any', oauth: 'any' },
  // Everyone may see the products of a shop; buying requires the permission to use a card.
  'shops.read': { apiKey: 'any', agent: 'any', oauth: 'any' },
  'shops.buy': { apiKey: 'payments.create', agent: 'cards.read', oauth: 'cards:agent' },
  // The caller must also be allowed to manage the sandbox; src/service/request/sandbox-manager.ts checks that.
  'sandbox.manage': { apiKey: 'any', agent: 'any', oauth: 'any' },
} as const satisfies Record<string, PermissionRule>

interface PermissionRule {
  apiKey: Scope | 'any' | null
  agent: Delegable | 'any' | null
  oauth: OAuthScope | 'any' | null
}

export type Permission = keyof typeof permissions

/** Returns the permission that an agent must hold on a wallet or in a grant to have `permission`; null if none. */
export function agentMustHold(permission: Permission): Delegable | null {
  const { agent }: PermissionRule = permissions[permission]
  return agent === 'any' ? null : agent
}

/** The permissions that a customer can grant an agent and that an API key can be limited to. */
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

/** The permissions that a customer can grant an agent, and that an agent can hold on a wallet. */
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
  'applications.read',
  'applications.manage',
  'disputes.read',
  'disputes.create',
] as const

export type Scope = (typeof scopes)[number]

/**
 * The scopes that a person can grant to an application (docs/service.md#oauth-scopes). The consent page shows their
 * `words`. A scope also allows everything that the scopes in its `includes` allow.
 */
export const oauthScopes = {
  'payments:read': { words: 'See wallets, balances, payments, subscriptions and the activity', includes: [] },
  'payments:write': {
    words: 'Make payments and transfers, and decide on approvals and subscriptions',
    includes: ['payments:read'],
  },
  'cards:agent': { words: 'Issue cards for single purchases, and use them', includes: [] },
  'external-accounts:link': { words: 'Link bank accounts that money is drawn from and paid to', includes: [] },
  'customers:read': { words: 'See your customers and invitations', includes: [] },
  'customers:write': { words: 'Invite customers and end their connections', includes: ['customers:read'] },
  // The agent policy forbids everything that this scope allows, so a connection that acts as an agent never gets it.
  'account:read': { words: 'See your agents and keys', includes: [] },
} as const satisfies Record<string, { words: string; includes: readonly string[] }>

export type OAuthScope = keyof typeof oauthScopes

/** The scopes for a connection that requests none. */
export const defaultOAuthScopes = ['payments:read', 'payments:write', 'cards:agent', 'customers:read'] as const

/** The scopes of an application that acts as an agent. The agent policy forbids all that `account:read` allows. */
export const applicationScopes = (Object.keys(oauthScopes) as OAuthScope[]).filter((scope) => scope !== 'account:read')

/** Returns the given scopes, and the scopes that they include. */
export function withIncluded(scopes: readonly string[]): string[] {
  const included = Object.entries(oauthScopes).flatMap(([name, { includes }]) =>
    scopes.includes(name) ? includes : [],
  )
  return [...new Set([...scopes, ...included])]
}

/** Returns whether the scopes of an OAuth grant allow the permission. */
export function scopesAllow(granted: readonly string[], permission: Permission): boolean {
  const needed: string | null = permissions[permission].oauth
  return needed === 'any' || (needed !== null && withIncluded(granted).includes(needed))
}

/** The kind of actor behind a credential, and the limits of the credential. */
export interface Authority {
  actorType: 'user' | 'party' | 'agent'
  /** An API key's scopes. If undefined, the scopes are unknown, and every scope counts as present. */
  scopes: readonly string[] | undefined
  /** The user's grant to the calling application; null for keys. */
  grant: { scopes: readonly string[] } | null
}

/** Returns whether the credential has the permission. A particular wallet or customer may require more. */
export function allows(authority: Authority, permission: Permission): boolean {
  return refusalOf(authority, permission) === undefined
}

/**
 * Returns why the credential may not use the permission; undefined if it may. The reason is a missing scope of its
 * grant or of its key, the agent policy, or that the permission is for agents only.
 */
export function refusalOf({ actorType, scopes, grant }: Authority, permission: Permission) {
  const { agent, apiKey }: PermissionRule = permissions[permission]
  if (grant !== null && !scopesAllow(grant.scopes, permission)) return 'grant'
  if (actorType === 'agent') return agent === null ? 'policy' : undefined
  if (apiKey === null) return 'agentsOnly'
  const isScoped = actorType === 'party' && apiKey !== 'any' && scopes !== undefined
  return isScoped && !scopes.includes(apiKey) ? 'scope' : undefined
}
