import type { Context } from 'hono'
import { html } from 'hono/html'
import { sha256 } from '../../../core/system.ts'
import { type Html, pageDocument } from '../frame/document.ts'
import { consoleHeaders } from '../frame/headers.ts'

interface ConsolePage {
  /** The page's title, and its heading unless `main` has one. */
  title: string
  main: Html
}

/** Renders the frame of every console page. */
export function consolePage({ title, main }: ConsolePage): Html {
  return pageDocument({
    title: `${title} · Console`,
    styles: ['/styles/base.css', '/styles/parts.css', '/styles/bar.css', '/styles/console.css'],
    scripts: html`<script src="/scripts/console.js" type="module"></script>`,
    body: html`<main id="main" class="full console" tabindex="-1">
${main}
</main>`,
  })
}

/** The subjects that parts of a page subscribe to on the console's stream (`/console/stream`). */
export type Topic = 'runs' | 'money' | 'sandbox' | `run:${string}`

/**
 * Renders a live part of a page. After a change, the script requests `source`, which returns only the content of the
 * part. Without the script, the part stays as it was when the page was opened.
 * @param source An address of the console that returns an HTML fragment.
 * @param version Set if the content differs for each session. The stream then sends the new version instead of the
 * content.
 */
export function livePart(topic: Topic, source: string, content: Html, version?: string): Html {
  const versionAttribute = version === undefined ? '' : html` data-version="${version}"`
  return html`<div data-live="${topic}" data-source="${source}"${versionAttribute}>${content}</div>`
}

/** Returns the response for the `source` of a live part: only the content of the part. */
export function partAnswer(c: Context, content: Html, version?: string) {
  return c.html(content, 200, { ...consoleHeaders, ...(version === undefined ? {} : { 'Part-Version': version }) })
}

/** Returns a hash of a part's content. The form tokens are left out, because each session has its own. */
export function versionOf(content: object): string {
  return sha256(JSON.stringify(content, (name, value) => (name === 'token' ? undefined : value)))
}
