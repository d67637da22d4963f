import type { Context } from 'hono'
import { html } from 'hono/html'
import type { Environment } from '../../../core/operation.ts'
import { sha256 } from '../../../core/system.ts'
import { type Account, signOutForm } from '../frame/account.ts'
import { type Html, pageDocument } from '../frame/document.ts'
import { consoleHeaders } from '../frame/headers.ts'
import { withoutCards } from './without-cards.ts'

/** The tabs of the console with their addresses. Production has no Sandbox tab. */
const tabs = [
  { id: 'runs', path: '/console', name: 'Runs' },
  { id: 'money', path: '/console/money', name: 'Money' },
  { id: 'sandbox', path: '/console/sandbox', name: 'Sandbox', only: 'sandbox' },
] as const satisfies readonly { id: string; path: string; name: string; only?: Environment }[]

export type Tab = (typeof tabs)[number]['id']

interface ConsolePage {
  /** The page's title, and its heading unless `main` has one. */
  title: string
  tab: Tab
  account: Account
  environment: Environment
  main: Html
}

/** Renders the frame of every console page. */
export function consolePage({ title, tab, account, environment, main }: ConsolePage): Html {
  const shown = tabs.filter((one) => !('only' in one) || one.only === environment)
  return pageDocument({
    title: `${title} · Console`,
    styles: ['/styles/base.css', '/styles/parts.css', '/styles/console.css'],
    scripts: html`<script src="/scripts/console.js" type="module"></script>`,
    body: html`<a class="skip" href="#main">Skip to the content</a>
<div class="bar line spread">
<nav aria-label="Console"><ul class="line">${shown.map(
      ({ id, path, name }) =>
        html`<li><a href="${path}"${id === tab ? html` aria-current="page"` : ''}>${name}</a></li>`,
    )}</ul></nav>
<div class="line"><p class="live-state" role="status" data-live-state></p><bdi>${withoutCards(account.user)}</bdi>${signOutForm(account.signOutToken, 'Sign out', '/console')}</div>
</div>
<main id="main" class="full console" tabindex="-1">
${main}
</main>`,
  })
}

/** The subjects that parts of a page subscribe to on the console's stream (`/console/stream`). */
export type Topic = 'runs' | 'money' | 'sandbox' | `run:${string}`

/**
 * Renders a part of a page that is refreshed after changes: the script requests `source`, which returns only the part's
 * content. Without the script, the part stays as it was when the page was opened.
 * @param source An address of the console that returns an HTML fragment.
 * @param version Set for a part that differs for each session: the stream then sends the new version instead of the
 * content.
 */
export function livePart(topic: Topic, source: string, content: Html, version?: string): Html {
  const known = version === undefined ? '' : html` data-version="${version}"`
  return html`<div data-live="${topic}" data-source="${source}"${known}>${content}</div>`
}

/** Returns the response of a live part's source: the part alone. */
export function partAnswer(c: Context, content: Html, version?: string) {
  return c.html(content, 200, { ...consoleHeaders, ...(version === undefined ? {} : { 'Part-Version': version }) })
}

/** Returns a hash of the part's content without the form tokens, which belong to one session. */
export function versionOf(shown: object): string {
  return sha256(JSON.stringify(shown, (name, value) => (name === 'token' ? undefined : value)))
}
