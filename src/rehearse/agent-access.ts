import { catalogue } from '../../tools/index.ts'
import type { OperationDefinition } from '../core/operation.ts'

type AccessFields = Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>

/**
 * Returns whether an agent under rehearsal may use an operation. Among the operations that exist only in the sandbox,
 * the agent may use those for the shops and the clock. With the others, the agent could act as another party, fund
 * itself or see the injected faults. It may not link bank accounts, because the test banks hold any amount of money.
 */
export function isOffered({ environments, permission, toolsets }: AccessFields): boolean {
  if (permission === 'external_accounts.create') return false
  return environments.includes('production') || toolsets.includes('shops') || permission === 'clock.use'
}

const operations = Object.values<OperationDefinition>(catalogue).map(({ method, path, ...operation }) => {
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`)
  return { method, path: pattern, isOffered: isOffered(operation) }
})

/**
 * The paths that the agent may open besides the API. All other pages are for people. The sandbox does not authenticate
 * visitors from this machine, so an agent could approve its own payments on the pages for people.
 */
const openPages =
  /^\/(?:$|shops(?:\/|$)|mcp(?:\/|$)|\.well-known\/|styles\/|scripts\/|docs(?:\/|$)|favicon\.|openapi\.json$|llms\.txt$|healthz$|readyz$)/

/** Returns whether a request to the sandbox is forbidden to the agent. Decodes percent-encoded paths first. */
export function isWithheld(method: string, pathname: string): boolean {
  const path = decodedPath(pathname)
  if (path === undefined) return true
  // CORS preflight requests change nothing.
  if (method === 'OPTIONS') return false
  const routedMethod = method === 'HEAD' ? 'GET' : method
  const matching = operations.filter((one) => one.method === routedMethod && one.path.test(path))
  return matching.length > 0 ? matching.some((one) => !one.isOffered) : !openPages.test(path)
}

/** Decodes a path in the same way as the sandbox's router. Returns undefined if the path is malformed. */
function decodedPath(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}
