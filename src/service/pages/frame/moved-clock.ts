import { timestamp } from '../../../core/system.ts'
import { movedClock } from '../../request/moved-clock.ts'
import type { PageDependencies } from './dependencies.ts'
import { sandboxBanner } from './document.ts'
import { momentOf } from './texts.ts'

type Pages = Pick<PageDependencies, 'store' | 'log'>

/**
 * Where the sandbox's clock was moved, the banner of every page tells its time: dates on the page are by that clock. The
 * banner is the frame's own, and what others wrote is escaped, so nothing else on a page reads like it.
 */
export async function tellingMovedClock(response: Response, pages: Pages): Promise<Response> {
  if (!response.headers.get('content-type')?.startsWith('text/html')) return response
  const page = await response.text()
  const told = page.includes(sandboxBanner) ? page.replace(sandboxBanner, await banner(pages)) : page
  return new Response(told, response)
}

async function banner({ store, log }: Pages): Promise<string> {
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
