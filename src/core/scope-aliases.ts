import type { OAuthScope } from './permissions.ts'

/**
 * Other names of scopes that a connection may request. The service's own connector uses them, so clients that are
 * configured for that connector work here unchanged. Grants use our names.
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
