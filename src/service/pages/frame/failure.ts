import type { Context } from 'hono'
import { newId } from '../../../core/system.ts'
import { hasLeft } from '../../request/body.ts'
import { failureOf } from '../../request/reply.ts'
import type { PageDependencies } from './dependencies.ts'
import { messagePage } from './form-page.ts'

interface FailurePage {
  /** The name of the page, or of the kind of page, for log messages about failures. */
  page: string
  headers: Readonly<Record<string, string>>
}

export type FailurePageWrapper = (
  c: Context,
  pages: PageDependencies,
  answer: () => Promise<Response>,
) => Promise<Response>

/**
 * Returns a wrapper for handlers of page requests. If a handler fails, the wrapper returns a page without internal
 * details.
 */
export function failurePageWrapper({ page, headers }: FailurePage): FailurePageWrapper {
  return async (c, { system, log }, answer) => {
    try {
      return await answer()
    } catch (error) {
      const supportId = newId('req', system, system.now())
      if (hasLeft(c.req.raw)) log.info({ supportId }, 'a client left before its request was read')
      else log.error({ supportId, err: error }, `${page} failed`)
      const text = `The page can’t be shown right now. Try again in a moment. (${supportId})`
      const status = failureOf(error).code === 'service_unavailable' ? 503 : 500
      return c.html(messagePage('Something went wrong', text), status, headers)
    }
  }
}
