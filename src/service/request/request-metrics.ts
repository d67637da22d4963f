import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { catalogue } from '../../../tools/index.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { System } from '../../core/system.ts'

/** Called for each answered request. `operation` is an operation's name, or a general word for any other request. */
export type Observe = (operation: string, status: number, seconds: number) => void

/** Returns the middleware that observes all requests after it. Its labels have few values, whatever clients send. */
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
    const names = matchedRoutes(c).map(({ path }) => operations.get(`${c.req.method} ${path}`))
    const name = names.find((one) => one !== undefined)
    observe(name ?? 'other', c.res.status, (system.elapsed() - beganAtMs) / 1000)
  }
}
