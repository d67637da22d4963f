import type { OAuthScope } from './permissions.ts'

/**
 * Other names for our scopes, which a connection may also request. The hosted connector of the API uses these names, so
 * a client that is configured for that connector works here unchanged. Grants contain only our names.
 */
export const scopeAliases: Readonly<Record<string, OAuthScope>> = {
  'payments:move': 'payments:write',
  'customers:invite': 'customers:write',
  'agents:operate': 'cards:agent',
}

/** Replaces aliases in a list of requested scopes with our names, and removes duplicates. */
export function resolveScopeAliases(scope: string): string {
  const named = scope.split(' ').map((name) => (Object.hasOwn(scopeAliases, name) ? scopeAliases[name] : name))
  return [...new Set(named)].join(' ')
}
