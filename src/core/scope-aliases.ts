import type { OAuthScope } from './permissions.ts'

/**
 * The aliases of scopes that a connection may request. The service's own connector uses these names, so clients that
 * are configured for it work here unchanged. The grant uses our names.
 */
export const scopeAliases: Readonly<Record<string, OAuthScope>> = {
  'payments:move': 'payments:write',
  'customers:invite': 'customers:write',
  'agents:operate': 'cards:agent',
}

/** Returns the requested scopes under our names, without duplicates. */
export function resolveScopeAliases(scope: string): string {
  const named = scope.split(' ').map((name) => (Object.hasOwn(scopeAliases, name) ? scopeAliases[name] : name))
  return [...new Set(named)].join(' ')
}
