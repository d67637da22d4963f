import { timestamp } from '../../../core/system.ts'
import { movedClock } from '../../request/moved-clock.ts'
import type { PageDependencies } from './dependencies.ts'
import { bannerPlace } from './document.ts'
import { momentOf } from './texts.ts'

/** Says that no real money moves. */
export const sandboxBanner = '<header class="sandbox">Sandbox: no real money</header>'

/**
 * Puts the banner into a page, where the frame left room for it. No page has one of its own, so that none of the sandbox
 * lacks it and none of production has it. What others wrote is escaped, so nothing else on a page reads like it.
 */
export async function withBanner(response: Response, banner: () => string | Promise<string>): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/html')) return response
  const page = await response.text()
  return new Response(page.includes(bannerPlace) ? page.replace(bannerPlace, await banner()) : page, response)
}

/** Returns the banner, which tells the sandbox's time where its clock was moved: dates on the page are by that clock. */
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
    return sandboxBanner.replace(
      '</header>',
      `<br><span class="moved">Its clock was moved: it is ${time}</span></header>`,
    )
  } catch (error) {
    // The page that says that nothing can be shown is shown all the same.
    log.debug({ err: error }, 'the clock could not be read for a page')
    return sandboxBanner
  }
}
