import type { Context, MiddlewareHandler } from 'hono'
import { Failure } from '../../core/errors.ts'
import { announcedBytes } from './body.ts'
import { callerOf } from './client-address.ts'

/** The maximum number of bytes counted for one body. Each route also has its own size limit. */
const maxBytes = 16 * 1024

/**
 * Returns middleware that counts the bodies of forms and OAuth requests toward the budget of the client's IP address,
 * because no credential is known yet.
 * @param refuse Answers a request whose body exceeds the budget. Without this function, the middleware throws the
 * failure.
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
