import { catalogue } from '../../tools/index.ts'
import type { OperationDefinition } from '../core/operation.ts'

type Offered = Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>

/**
 * Returns whether an agent under rehearsal may use an operation. Of the sandbox-only operations, it gets only those for
 * the shops and the clock. The others would let it act as other parties, fund itself or see the injected faults. It
 * cannot link banks either, since the sandbox's test banks hold any amount of money.
 */
export function isOffered({ environments, permission, toolsets }: Offered): boolean {
  if (permission === 'external_accounts.create') return false
  return environments.includes('production') || toolsets.includes('shops') || permission === 'clock.use'
}

const operations = Object.values<OperationDefinition>(catalogue).map(({ method, path, ...operation }) => {
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`)
  return { method, path: pattern, isOffered: isOffered(operation) }
})

/**
 * Pages for reading and shopping. All other pages are for people: on this machine the sandbox trusts anyone who claims
 * to be its owner, a customer or the recipient of a link, so an agent could approve its own payments there.
 */
const openPages =
  /^\/(?:$|shops(?:\/|$)|mcp(?:\/|$)|\.well-known\/|styles\/|scripts\/|docs(?:\/|$)|favicon\.|openapi\.json$|llms\.txt$|healthz$|readyz$)/

/** Returns whether the agent may not make a request to the sandbox. Encoded paths are recognized too. */
export function isWithheld(method: string, pathname: string): boolean {
  const path = asRouted(pathname)
  if (path === undefined) return true
  // CORS preflight requests change nothing.
  if (method === 'OPTIONS') return false
  const asking = method === 'HEAD' ? 'GET' : method
  const matching = operations.filter((one) => one.method === asking && one.path.test(path))
  return matching.length > 0 ? matching.some((one) => !one.isOffered) : !openPages.test(path)
}

/** Decodes a path as the router does; undefined if it cannot be decoded. */
function asRouted(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}
