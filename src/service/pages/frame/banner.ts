import { timestamp } from '../../../core/system.ts'
import { movedClock } from '../../request/moved-clock.ts'
import { siteBrand } from './bar.ts'
import type { PageDependencies } from './dependencies.ts'
import { bannerPlaceholder, barPlaceholder, fillPlaceholders } from './document.ts'
import { momentOf } from './texts.ts'

/** The banner of sandbox pages. */
export const sandboxBanner = '<p class="sandbox">Sandbox: no real money</p>'

/**
 * Inserts the banner at its placeholder. If the page has no bar yet, inserts the brand at the bar's placeholder. Every
 * response passes through this function, so no page needs to insert the banner itself.
 */
export function withBanner(
  response: Response,
  banner: () => string | Promise<string>,
  brand = siteBrand,
): Promise<Response> {
  return fillPlaceholders(response, async () => ({ [bannerPlaceholder]: await banner(), [barPlaceholder]: brand }))
}

/**
 * Returns the sandbox's banner; empty in production. If the sandbox clock was moved, the banner shows the clock's time,
 * because the dates on the page follow the clock.
 */
export async function bannerNow({
  environment,
  store,
  log,
}: Pick<PageDependencies, 'environment' | 'store' | 'log'>): Promise<string> {
  if (environment === 'production') return ''
  try {
    const nowMs = await movedClock(store)
    if (nowMs === undefined) return sandboxBanner
    const time = `<time datetime="${timestamp(nowMs)}">${momentOf(nowMs)}</time>`
    return sandboxBanner.replace('</p>', `<br><span class="moved">Clock moved: it is now ${time}</span></p>`)
  } catch (error) {
    // The page must work even if the clock cannot be read.
    log.debug({ err: error }, 'the clock could not be read for a page')
    return sandboxBanner
  }
}
