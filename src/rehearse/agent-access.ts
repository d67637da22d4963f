import { catalogue } from '../../tools/index.ts'
import type { OperationDefinition } from '../core/operation.ts'

type Offered = Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>

/**
 * Whether an agent under rehearsal may use an operation. What only the sandbox has would let it play others, fund itself or
 * see what goes wrong on purpose: shops and the scenario's person play everybody else. It may buy at the shops, and wait.
 * Nor does it link banks, which a person does: the sandbox's test banks have as much money as anybody asks for.
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
 * Pages for whoever reads or buys. All others are for people: at this machine the sandbox lets anybody be its owner, a
 * customer or whoever a link was sent to, and an agent that signed in there would approve its own payments.
 */
const openPages =
  /^\/(?:$|shops(?:\/|$)|mcp(?:\/|$)|\.well-known\/|styles\/|scripts\/|docs(?:\/|$)|favicon\.|openapi\.json$|llms\.txt$|healthz$|readyz$)/

/** The same of a request to the sandbox's address, however its path is written. */
export function isWithheld(method: string, pathname: string): boolean {
  const path = asRouted(pathname)
  if (path === undefined) return true
  // What a browser asks before it asks, and what only looks whether something is there.
  if (method === 'OPTIONS') return false
  const asking = method === 'HEAD' ? 'GET' : method
  const asked = operations.filter((one) => one.method === asking && one.path.test(path))
  return asked.length > 0 ? asked.some((one) => !one.isOffered) : !openPages.test(path)
}

/** A path as the router reads it, which decodes it; undefined: it cannot be read. */
function asRouted(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}
