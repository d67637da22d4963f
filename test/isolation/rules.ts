import type { OperationDefinition } from '../../src/core/operation.ts'
import { type OAuthScope, oauthScopes, permissions } from '../../src/core/permissions.ts'
import { type CredentialKind, scopesOfGrant } from './places.ts'
import { permittedStatus, type Sample } from './samples.ts'

/**
 * The target of a request: the owner of the requested resource and, if the operation can act for customers, the
 * customer that the request names. With `own`, `stranger` and `granted, unnamed`, the request names no customer. With
 * `own, naming a customer`, it names the customer `granted`. With the other targets, it names the owner. `by partyId`
 * means that the customer is named in the parameter `partyId` instead of `customerPartyId`, as in reads of the
 * published client.
 */
export const targets = [
  'own',
  'granted',
  'ungranted',
  'stranger',
  'granted, unnamed',
  'own, naming a customer',
  'stranger, named',
  'granted, by partyId',
  'stranger, by partyId',
] as const

export type Target = (typeof targets)[number]

/**
 * Returns the status that docs/service.md specifies in the sections #credential-modes, #api-keys, #agent-policy and
 * #resources-of-other-parties.
 */
export function expectedStatus(
  credential: CredentialKind,
  sample: Sample,
  target: Target,
  operation: OperationDefinition,
): number {
  if (['revoked key', 'expired key', 'key of the other environment', 'ended grant'].includes(credential)) return 401
  const isAgent = credential === 'agent key' || credential === 'exchanged token' || credential.startsWith('agent grant')
  if (!isAllowed(scopesOfGrant(credential), operation)) return 403
  if (sample.who === 'owners' && isAgent) return 403
  if (sample.who === 'agents' && !isAgent) return 403
  if (sample.who !== 'anyone' && credential === 'party key without scopes') return 403
  const permitted = permittedStatus(operation, sample)
  if (sample.reach === 'connected') return statusForConnection(sample, target, permitted)
  if (target === 'own') return lacksScope(scopesOfGrant(credential), sample.neededScope) ? 403 : permitted
  if (sample.reach === 'party') return isAgent ? (sample.otherAgent ?? 404) : 404
  if (target === 'stranger' || target === 'granted, unnamed') return 404
  // Only an agent may act for a customer. It needs that customer's grant, and can reach only that customer's records.
  if (!isAgent) return 403
  if (target === 'granted' || target === 'granted, by partyId') return permitted
  if (target === 'ungranted') return sample.ungranted ?? 403
  return target === 'own, naming a customer' ? 404 : 403
}

/** Returns the status of a request about a connected customer itself. Any grant from this customer is enough. */
function statusForConnection({ ownParty = 404 }: Sample, target: Target, permitted: number): number {
  if (target === 'own') return ownParty
  return target === 'stranger' ? 404 : permitted
}

/** Returns whether the scopes lack the scope that the request needs because it asks a customer for permissions. */
function lacksScope(scopes: readonly OAuthScope[] | undefined, needed: OAuthScope | undefined): boolean {
  if (scopes === undefined || needed === undefined) return false
  return !scopes.some((held) => held === needed || (oauthScopes[held].includes as readonly string[]).includes(needed))
}

/**
 * Returns whether the scopes permit an operation. All card operations need `cards:agent`
 * (docs/service.md#oauth-scopes).
 */
function isAllowed(scopes: readonly string[] | undefined, { name, permission }: OperationDefinition): boolean {
  if (scopes === undefined) return true
  if (/card/.test(name) && !/subscription/.test(name)) return scopes.includes('cards:agent')
  const { oauth } = permissions[permission]
  const granted = scopes.flatMap((scope) => [scope, ...oauthScopes[scope as keyof typeof oauthScopes].includes])
  return oauth === 'any' || (oauth !== null && granted.includes(oauth))
}
