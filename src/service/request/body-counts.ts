import type { Context, MiddlewareHandler } from 'hono'
import { Failure } from '../../core/errors.ts'
import { announcedBytes } from './body.ts'
import { callerOf } from './client-address.ts'

/** The most bytes counted for one body. No form or OAuth request needs more, and each route also has its own limit. */
const maxBytes = 16 * 1024

/**
 * Counts the bodies of forms and OAuth requests by client address, because they are read before authentication.
 * @param refuse Answers a request whose body exceeds the budget. If omitted, the failure is thrown.
 */
export function countBodies(refuse?: (c: Context, failure: Failure) => Response): MiddlewareHandler {
  return async (c, next) => {
    const body = callerOf(c)?.body
    if (body === undefined) return next()
    const count = body.byAddress()
    try {
      count.add(Math.min(announcedBytes(c.req.raw), maxBytes))
    } catch (error) {
      if (refuse !== undefined && error instanceof Failure) return refuse(c, error)
      throw error
    }
    try {
      await next()
    } finally {
      count.end()
    }
  }
}
