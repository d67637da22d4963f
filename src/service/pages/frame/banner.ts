import { timestamp } from '../../../core/system.ts'
import { movedClock } from '../../request/moved-clock.ts'
import type { PageDependencies } from './dependencies.ts'
import { bannerPlace } from './document.ts'
import { momentOf } from './texts.ts'

/** The notice that no real money moves. */
export const sandboxBanner = '<header class="sandbox">Sandbox: no real money</header>'

/**
 * Inserts the banner at its placeholder. All pages pass through here, so every sandbox page has the banner and no
 * production page does. Foreign text is escaped, so it cannot contain the placeholder.
 */
export async function withBanner(response: Response, banner: () => string | Promise<string>): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/html')) return response
  const page = await response.text()
  return new Response(page.includes(bannerPlace) ? page.replace(bannerPlace, await banner()) : page, response)
}

/**
 * Returns the banner. If the sandbox's clock was moved it shows the time, because dates on the page follow that clock.
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
    return sandboxBanner.replace('</header>', `<br><span class="moved">Clock moved: it is now ${time}</span></header>`)
  } catch (error) {
    // The page that reports the failure must still be shown.
    log.debug({ err: error }, 'the clock could not be read for a page')
    return sandboxBanner
  }
}
