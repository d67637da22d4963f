import type { OAuthScope } from './permissions.ts'

/**
 * Aliases of scopes that a connection may request: the names of the service's own connector, so that clients configured
 * for it work here unchanged. The grant uses our names.
 */
export const scopeAliases: Readonly<Record<string, OAuthScope>> = {
  'payments:move': 'payments:write',
  'customers:invite': 'customers:write',
  'agents:operate': 'cards:agent',
}

/** Returns the requested scopes under our names, without duplicates. */
export function namedScopes(scope: string): string {
  const named = scope.split(' ').map((name) => (Object.hasOwn(scopeAliases, name) ? scopeAliases[name] : name))
  return [...new Set(named)].join(' ')
}
