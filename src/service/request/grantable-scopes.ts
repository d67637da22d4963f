import { type FailureOptions, fail } from '../../core/errors.ts'
import { type Permission, permissions, type Scope, scopes, scopesAllow } from '../../core/permissions.ts'
import type { Actor } from './permission-checks.ts'

const rules = Object.values(permissions)

/** The wallet permissions that the agent policy uses. No other wallet permission allows an agent to do anything. */
const usableByAgents: ReadonlySet<string> = new Set(rules.flatMap(({ agent }) => agent ?? []))

/**
 * The scopes that an agent key gives. For each permission that agents can have, they include the scope that gives this
 * permission to an API key. If API keys cannot have it, they include the wallet permission that gives it to an agent.
 */
const agentPolicy: readonly Scope[] = scopes.filter((scope) =>
  rules.some(({ agent, apiKey }) => agent !== null && (apiKey ?? agent) === scope),
)

/** The scopes that an agent's limits restrict. Raising the limits counts as granting these scopes. */
const limited: readonly Scope[] = ['payments.create', 'cards.read']

/** The scopes of a member of a party: all scopes that a user can have. */
const membership: readonly Scope[] = scopes.filter((scope) => rules.some(({ apiKey }) => apiKey === scope))

/** The scopes that each kind of grant gives. Every operation that creates or extends authority uses this table. */
export const grantedScopes = {
  scopesOf: (requested: readonly string[]) => requested,
  agentKey: () => agentPolicy,
  holdings: (requested: readonly string[]) => requested.filter((permission) => usableByAgents.has(permission)),
  higherLimits: () => limited,
  membership: () => membership,
  /**
   * Returns the scopes that a webhook gives its receiver: the scopes for reading the records that the webhook's events
   * are about.
   */
  readingOf: (read: readonly Permission[]) =>
    scopes.filter((scope) => read.some((permission) => permissions[permission].apiKey === scope)),
} as const

/**
 * Returns whether the caller has the scope. A signed-in user has all scopes of the party. An application has the scopes
 * that a user granted to it.
 */
export function hasScope({ actorType, grant, scopes: ownScopes }: Actor, scope: string): boolean {
  if (actorType === 'party') return ownScopes.includes(scope)
  return grant === null || (Object.hasOwn(permissions, scope) && scopesAllow(grant.scopes, scope as Permission))
}

/** Returns whether the caller has all of these scopes, and so may grant them. */
export function canGrant(actor: Actor, giving: readonly string[]): boolean {
  return giving.every((scope) => hasScope(actor, scope))
}

/**
 * Requires that the caller itself has every permission that it wants to grant to a key or an agent, or to be granted by
 * a customer.
 * @throws 403 `forbidden` that names the missing permissions.
 */
export function requireCanGrant(actor: Actor, giving: readonly string[], source?: FailureOptions['source']): void {
  const lacking = giving.filter((scope) => !hasScope(actor, scope))
  if (lacking.length === 0) return
  fail('forbidden', {
    detail: `A credential can grant only permissions that it has, and this one lacks ${lacking.join(', ')}. Use another credential, or grant fewer permissions.`,
    ...(source === undefined ? {} : { source }),
  })
}
