import { html, raw } from 'hono/html'
import { withoutCardNumbers } from '../../../core/card-numbers.ts'
import type { Environment } from '../../../core/operation.ts'
import { mark } from '../../../display/standalone-page.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { pendingCount } from '../../request/pending-count.ts'
import { accountOf, signOutForm } from './account.ts'
import type { PageDependencies } from './dependencies.ts'
import { barPlaceholder, fillPlaceholders, type Html } from './document.ts'

/** The logo and the product name at the top of each page, as a link to the home page. */
export const siteBrand = `<div class="brand"><a href="/">${mark}</a></div>`

interface Place {
  name: string
  path: string
  /** The path prefixes of the pages on which this link is marked as current. */
  under: readonly string[]
  onlyIn?: Environment
}

const decisions = '/decisions'

/** The pages that the bar links to. Production has no Sandbox page. */
const places: readonly Place[] = [
  { name: 'Runs', path: '/console', under: ['/console'] },
  { name: 'Money', path: '/console/money', under: ['/console/money'] },
  { name: 'Sandbox', path: '/console/sandbox', under: ['/console/sandbox'], onlyIn: 'sandbox' },
  { name: 'Decisions', path: decisions, under: [decisions, '/decide', '/approvals'] },
  { name: 'Connections', path: '/connections', under: ['/connections'] },
]

/** The largest count that the bar shows. A larger count appears as `99+`. */
const maxCounted = 99

/** Inserts the bar for the signed-in user at the placeholder of a page. */
export function withBar(
  response: Response,
  pages: PageDependencies,
  { signedIn, path }: { signedIn: SignedIn; path: string },
): Promise<Response> {
  return fillPlaceholders(response, async () => ({ [barPlaceholder]: String(await barFor(pages, signedIn, path)) }))
}

async function barFor(pages: PageDependencies, signedIn: SignedIn, path: string): Promise<Html> {
  const pending = await countPending(pages, signedIn)
  const { user, signOutToken } = accountOf(signedIn)
  const current = places.findLast(({ under }) => under.some((start) => path === start || path.startsWith(`${start}/`)))
  const visiblePlaces = places.filter(({ onlyIn }) => onlyIn === undefined || onlyIn === pages.environment)
  return html`<a class="skip" href="#main">Skip to the content</a>
<div class="bar">
${raw(siteBrand)}
<nav aria-label="Pages"><ul>${visiblePlaces.map(
    (place) =>
      html`<li><a href="${place.path}"${place === current ? html` aria-current="page"` : ''}>${place.name}${place.path === decisions ? countText(pending) : ''}</a></li>`,
  )}</ul></nav>
<div class="line">${path.startsWith('/console') ? html`<p class="live-state" role="status" data-live-state></p>` : ''}<bdi>${withoutCardNumbers(user)}</bdi>${signOutForm(signOutToken, 'Sign out')}</div>
</div>`
}

function countText(count: number): Html | '' {
  if (count === 0) return ''
  return html` <span class="count">${count > maxCounted ? `${maxCounted}+` : count}<span class="unseen"> pending</span></span>`
}

/** Counts the pending decisions. Returns 0 if the count fails, so that the page is shown without a number. */
async function countPending({ store, log }: PageDependencies, { user: { partyId } }: SignedIn): Promise<number> {
  try {
    return await pendingCount(store, partyId, maxCounted + 1)
  } catch (error) {
    log.debug({ err: error }, 'the pending decisions could not be counted for a page')
    return 0
  }
}
