import type { OAuthScope } from './permissions.ts'

/**
 * Other names by which a connection may ask for a scope: those of the service's own connector, so that what is configured
 * for it works here unchanged. What is granted is told by our names.
 */
export const scopeAliases: Readonly<Record<string, OAuthScope>> = {
  'payments:move': 'payments:write',
  'customers:invite': 'customers:write',
  'agents:operate': 'cards:agent',
}

/** The scopes of a request, each by our name and once. */
export function namedScopes(scope: string): string {
  const named = scope.split(' ').map((name) => (Object.hasOwn(scopeAliases, name) ? scopeAliases[name] : name))
  return [...new Set(named)].join(' ')
}
