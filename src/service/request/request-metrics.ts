import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { catalogue } from '../../../tools/index.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { System } from '../../core/system.ts'

/** A function that is called after each answered request. `operation` is an operation's name, or `other`. */
export type Observe = (operation: string, status: number, seconds: number) => void

/**
 * Returns middleware that calls `observe` after every request. Requests that call no operation count as `other`, so
 * that callers cannot create an unlimited number of label values.
 */
export function observeRequests(observe: Observe, system: Pick<System, 'elapsed'>): MiddlewareHandler {
  const operations = new Map(
    Object.values<OperationDefinition>(catalogue).map(({ method, path, name }) => [
      `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
      name,
    ]),
  )
  return async (c, next) => {
    const beganAtMs = system.elapsed()
    await next()
    const found = matchedRoutes(c).map(({ path }) => operations.get(`${c.req.method} ${path}`))
    const operation = found.find((name) => name !== undefined)
    observe(operation ?? 'other', c.res.status, (system.elapsed() - beganAtMs) / 1000)
  }
}
