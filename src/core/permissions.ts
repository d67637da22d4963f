/**
 * The table of permissions: what each kind of credential needs for each permission that an operation can name
 * (docs/service.md#credential-modes, #agent-policy, #who-may-simulate). `any` means that nothing is needed, and `null`
 * that the permission is never allowed.
 * - An API key needs a scope.
 * - An agent needs the permission in the fixed policy. To act for a customer it also needs the permission in the
 *   customer's grant. For its own party's cards and subscriptions it also needs the permission on the wallet, though it
 *   may always read its party's wallets.
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
  // The permission to rename a wallet must not let an agent spend from it, so this needs the permission to manage
  // agents.
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
  // A caller that may issue or use a card may stop it (docs/service.md#frozen-cards).
  'cards.freeze': { apiKey: 'payments.create', agent: 'cards.read', oauth: 'cards:agent' },
  'cards.simulate': { apiKey: 'payments.create', agent: 'cards.read', oauth: 'cards:agent' },
  'payments.read': { apiKey: 'payments.read', agent: 'payments.read', oauth: 'payments:read' },
  'payments.create': { apiKey: 'payments.create', agent: 'payments.create', oauth: 'payments:write' },
  'payments.simulate': { apiKey: 'payments.create', agent: 'any', oauth: 'payments:write' },
  'deposits.create': { apiKey: 'wallets.deposit', agent: 'wallets.deposit', oauth: 'payments:write' },
  'withdrawals.create': { apiKey: 'wallets.withdraw', agent: 'wallets.withdraw', oauth: 'payments:write' },
  'external_accounts.read': { apiKey: 'wallets.read', agent: 'wallets.read', oauth: 'payments:read' },
  // Linking an account decides where money may go, so an agent may do so only if a person allowed its application to.
  'external_accounts.create': {
    apiKey: 'external_accounts.create',
    agent: 'external_accounts.create',
    oauth: 'external-accounts:link',
  },
  'external_accounts.delete': { apiKey: 'external_accounts.create', agent: null, oauth: null },
  // The sandbox plays the parts of banks and reviewers.
  'banks.simulate': { apiKey: 'payments.create', agent: 'any', oauth: 'payments:write' },
  // The reviewer decides what the party may do at all, and an agent must not lift its own party's suspension.
  'compliance.simulate': { apiKey: 'party.update', agent: null, oauth: null },
  'party.read': { apiKey: 'party.read', agent: 'party.read', oauth: 'payments:read' },
  // Only a person changes the profile and the limits, because an agent must not extend what it may spend.
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
  // These permissions also cover agents' keys, because the permission to rename an agent must not give out a credential
  // that moves money.
  'api_keys.read': { apiKey: 'api_keys.read', agent: null, oauth: 'account:read' },
  'api_keys.create': { apiKey: 'api_keys.create', agent: null, oauth: null },
  'api_keys.delete': { apiKey: 'api_keys.delete', agent: null, oauth: null },
  // Only the party's owners decide which applications act for it, and until when. No application may create another
  // one.
  'applications.read': { apiKey: 'applications.read', agent: null, oauth: null },
  'applications.manage': { apiKey: 'applications.manage', agent: null, oauth: null },
  'activity.read': { apiKey: 'agents.read', agent: 'any', oauth: 'payments:read' },
  'clock.use': { apiKey: 'any', agent: 'any', oauth: 'any' },
  // Everyone may see the goods of a shop; buying requires the permission to use a card.
  'shops.read': { apiKey: 'any', agent: 'any', oauth: 'any' },
  'shops.buy': { apiKey: 'payments.create', agent: 'cards.read', oauth: 'cards:agent' },
  // The caller must also manage the sandbox, which src/service/request/sandbox-manager.ts checks.
  'sandbox.manage': { apiKey: 'any', agent: 'any', oauth: 'any' },
} as const satisfies Record<string, PermissionRule>

interface PermissionRule {
  apiKey: Scope | 'any' | null
  agent: Delegable | 'any' | null
  oauth: OAuthScope | 'any' | null
}

export type Permission = keyof typeof permissions

/** Returns the wallet permission that an agent must hold for a permission; null if it needs none. */
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
 * The scopes that a person can grant an application that signs in (docs/service.md#oauth-scopes), in the words of the
 * consent page. A scope also allows everything that the scopes in its `includes` allow.
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
  // The agent policy allows nothing that this scope opens, so a connection that acts as an agent never gets it.
  'account:read': { words: 'See your agents and keys', includes: [] },
} as const satisfies Record<string, { words: string; includes: readonly string[] }>

export type OAuthScope = keyof typeof oauthScopes

/** The scopes of a connection that requests no scopes. */
export const defaultOAuthScopes = ['payments:read', 'payments:write', 'cards:agent', 'customers:read'] as const

/**
 * The scopes that an application can have if it acts as an agent. The agent policy allows nothing in the other scopes.
 */
export const applicationScopes = (Object.keys(oauthScopes) as OAuthScope[]).filter((scope) => scope !== 'account:read')

/** Adds the scopes that the given ones include. */
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

/** The kind of actor behind a credential, and its limits. */
export interface Authority {
  actorType: 'user' | 'party' | 'agent'
  /** An API key's scopes. If undefined, the scopes are unknown, and every scope counts as present. */
  scopes: readonly string[] | undefined
  /** The user's grant to the calling application; null for keys. */
  grant: { scopes: readonly string[] } | null
}

/** Returns whether the credential may use the permission anywhere. Wallets and customers may require more. */
export function allows(authority: Authority, permission: Permission): boolean {
  return refusalOf(authority, permission) === undefined
}

/**
 * Returns why the credential may not use the permission; undefined if it may. The reason is its grant, the agent
 * policy, a permission that is for agents only, or its scopes.
 */
export function refusalOf({ actorType, scopes, grant }: Authority, permission: Permission) {
  const { agent, apiKey }: PermissionRule = permissions[permission]
  if (grant !== null && !scopesAllow(grant.scopes, permission)) return 'grant'
  if (actorType === 'agent') return agent === null ? 'policy' : undefined
  if (apiKey === null) return 'agentsOnly'
  const isScoped = actorType === 'party' && apiKey !== 'any' && scopes !== undefined
  return isScoped && !scopes.includes(apiKey) ? 'scope' : undefined
}
