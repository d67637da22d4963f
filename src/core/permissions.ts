/**
 * The permissions that operations require, and the conditions under which each kind of credential has them
 * (docs/service.md#credential-modes, #agent-policy, #who-may-simulate). `any` means that there is no condition, and
 * `null` means that the credential never has the permission.
 * - An API key needs the scope in `apiKey`.
 * - An agent needs the permission in `agent`. To act for a customer, it needs this permission in the customer's grant.
 *   For its own party's payments, transfers, cards and subscriptions, it needs this permission on the wallet. It may
 *   always read its own party's wallets.
 * - An OAuth grant needs the scope in `oauth`. No scope allows an application to create agents or keys, because these
 *   would outlive the grant.
 * - A user may do everything except what only agents may do.
 */
export const permissions = {
  'identity.read': { apiKey: 'any', agent: 'any', oauth: 'any' },
  'wallets.read': { apiKey: 'wallets.read', agent: 'wallets.read', oauth: 'payments:read' },
  // An agent never creates or changes wallets, or decides who may use them (docs/service.md#agent-policy).
  'wallets.create': { apiKey: 'wallets.create', agent: null, oauth: null },
  'wallets.update': { apiKey: 'wallets.update', agent: null, oauth: null },
  'wallet_agents.read': { apiKey: 'wallets.read', agent: null, oauth: 'account:read' },
  // To decide which agents may spend from a wallet, a caller needs the permission to manage agents. The permission to
  // rename a wallet must not be enough.
  'wallet_agents.manage': { apiKey: 'agents.update', agent: null, oauth: null },
  'wallets.transfer': { apiKey: 'wallets.transfer', agent: 'wallets.transfer', oauth: 'payments:write' },
  'customers.read': { apiKey: 'delegations.read', agent: 'any', oauth: 'customers:read' },
  'customers.invite': { apiKey: 'delegations.create', agent: 'any', oauth: 'customers:write' },
  'customers.remove': { apiKey: 'delegations.delete', agent: null, oauth: 'customers:write' },
  'customers.simulate': { apiKey: 'delegations.create', agent: 'any', oauth: 'customers:write' },
  'invitations.revoke': { apiKey: 'delegations.delete', agent: 'any', oauth: 'customers:write' },
  // Anyone who opens an invitation link can become a customer of the link's agents. An agent must not open itself to
  // everyone, so it gets no access to these links.
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
  // Money can be sent to a linked account. So an application may link accounts only with a scope that a person granted
  // for this.
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
  // Agents and applications may not change the profile and the limits, because an agent must not raise its own spending
  // limits.
  'party.update': { apiKey: 'party.update', agent: null, oauth: null },
  'members.read': { apiKey: 'membership.read', agent: null, oauth: 'account:read' },
  'members.remove': { apiKey: 'membership.delete', agent: null, oauth: null },
  'party_invitations.read': { apiKey: 'invite.read', agent: null, oauth: 'account:read' },
  'party_invitations.create': { apiKey: 'invite.create', agent: null, oauth: null },
  'party_invitations.revoke': { apiKey: 'invite.delete', agent: null, oauth: null },
  // A credential gets only events about records that it may read (src/service/operations/events.ts).
  'events.read': { apiKey: 'any', agent: 'any', oauth: 'payments:read' },
  // A webhook sends the party's events to another machine, so an agent may neither read nor manage webhooks.
  'webhooks.read': { apiKey: 'party.read', agent: null, oauth: 'account:read' },
  'webhooks.manage': { apiKey: 'party.update', agent: null, oauth: null },
  'wallets.fund': { apiKey: 'wallets.fund', agent: 'any', oauth: 'payments:write' },
  'subscriptions.read': { apiKey: 'payments.read', agent: 'payments.read', oauth: 'payments:read' },
  'subscriptions.manage': { apiKey: 'payments.create', agent: 'payments.create', oauth: 'payments:write' },
  'agents.read': { apiKey: 'agents.read', agent: null, oauth: 'account:read' },
  'agents.create': { apiKey: 'agents.create', agent: null, oauth: null },
  'agents.update': { apiKey: 'agents.update', agent: null, oauth: null },
  'agents.delete': { apiKey: 'agents.delete', agent: null, oauth: null },
  // These permissions also cover the keys of agents. The permission to rename an agent must not be enough to create a
  // credential that moves money.
  'api_keys.read': { apiKey: 'api_keys.read', agent: null, oauth: 'account:read' },
  'api_keys.create': { apiKey: 'api_keys.create', agent: null, oauth: null },
  'api_keys.delete': { apiKey: 'api_keys.delete', agent: null, oauth: null },
  // Agents and applications may not decide which applications act for the party, and until when.
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

/**
 * Returns the permission that an agent must have on a wallet, or in a customer's grant, for operations that require
 * `permission`. Returns null if wallets and grants do not matter, because all agents or no agents have `permission`.
 */
export function agentMustHold(permission: Permission): Delegable | null {
  const { agent }: PermissionRule = permissions[permission]
  return agent === 'any' ? null : agent
}

/** The names that are both a permission of agents (`delegable`) and a scope of API keys (`scopes`). */
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

/** The scopes that an API key can be limited to. */
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
  // The agent policy forbids everything that this scope allows, so a connection that acts as an agent never gets this
  // scope.
  'account:read': { words: 'See your agents and keys', includes: [] },
} as const satisfies Record<string, { words: string; includes: readonly string[] }>

export type OAuthScope = keyof typeof oauthScopes

/** The scopes of a connection that requests no scopes. */
export const defaultOAuthScopes = ['payments:read', 'payments:write', 'cards:agent', 'customers:read'] as const

/**
 * The scopes that a registered application can have. It acts as an agent, and the agent policy forbids all that
 * `account:read` allows.
 */
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

/** Returns whether the credential has the permission. Access to a particular wallet or customer may require more. */
export function allows(authority: Authority, permission: Permission): boolean {
  return refusalOf(authority, permission) === undefined
}

/**
 * Returns why the credential does not have the permission; undefined if it does.
 * - `grant`: the OAuth grant has no scope that allows the action.
 * - `scope`: the API key does not have the scope that the action requires.
 * - `policy`: the agent policy forbids the action.
 * - `agentsOnly`: only agents may act.
 */
export function refusalOf({ actorType, scopes, grant }: Authority, permission: Permission) {
  const { agent, apiKey }: PermissionRule = permissions[permission]
  if (grant !== null && !scopesAllow(grant.scopes, permission)) return 'grant'
  if (actorType === 'agent') return agent === null ? 'policy' : undefined
  if (apiKey === null) return 'agentsOnly'
  const isScoped = actorType === 'party' && apiKey !== 'any' && scopes !== undefined
  return isScoped && !scopes.includes(apiKey) ? 'scope' : undefined
}
