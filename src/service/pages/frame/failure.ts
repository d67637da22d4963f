import type { Context } from 'hono'
import type { Logger } from '../../../config/log.ts'
import { newId, type System } from '../../../core/system.ts'
import { hasLeft } from '../../request/body.ts'
import { StoreBusyError } from '../../store/engine/store.ts'
import type { Html } from './document.ts'

interface Looks {
  /** What failed, in the log. */
  page: string
  message(heading: string, text: string): Html
  headers: Readonly<Record<string, string>>
}

type OrFailure = (
  c: Context,
  grounds: { system: System; log: Logger },
  answer: () => Promise<Response>,
) => Promise<Response>

/** Answers, or says that it failed: also to somebody at a browser, what went wrong inside is not told. */
export function failingAs({ page, message, headers }: Looks): OrFailure {
  return async (c, { system, log }, answer) => {
    try {
      return await answer()
    } catch (error) {
      const supportId = newId('req', system, system.now())
      if (hasLeft(c.req.raw)) log.info({ supportId }, 'a client left before its request was read')
      else log.error({ supportId, err: error }, `${page} failed`)
      const text = `The page can’t be shown right now. Try again in a moment. (${supportId})`
      return c.html(message('Something went wrong', text), error instanceof StoreBusyError ? 503 : 500, headers)
    }
  }
}
