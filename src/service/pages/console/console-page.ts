import type { Context } from 'hono'
import { html } from 'hono/html'
import { sha256 } from '../../../core/system.ts'
import { type Html, pageDocument } from '../frame/document.ts'
import { consoleHeaders } from '../frame/headers.ts'

interface ConsolePage {
  /** The title in the browser's tab. The visible heading is in `main`. */
  title: string
  main: Html
}

/** Renders a console page around its content. */
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

/** The topics to which a part of a page can subscribe on the console's stream (`/console/stream`). */
export type Topic = 'runs' | 'money' | 'sandbox' | `run:${string}`

/**
 * Renders a part of a page that the script keeps up to date. After a change, the script shows the new content that the
 * stream delivers. If the stream delivers only a notice or a version, the script requests the content from `source`.
 * Without the script, the part never changes.
 * @param source The console address that returns the part's content.
 * @param version The version of the content. It is required if the content differs for each session, because the stream
 * then sends only the version.
 */
export function livePart(topic: Topic, source: string, content: Html, version?: string): Html {
  const versionAttribute = version === undefined ? '' : html` data-version="${version}"`
  return html`<div data-live="${topic}" data-source="${source}"${versionAttribute}>${content}</div>`
}

/** Returns the response to a request for a live part's `source`. */
export function partAnswer(c: Context, content: Html, version?: string) {
  return c.html(content, 200, { ...consoleHeaders, ...(version === undefined ? {} : { 'Part-Version': version }) })
}

/** Returns a hash of a part's content. The hash ignores the form tokens, because each session has different tokens. */
export function versionOf(content: object): string {
  return sha256(JSON.stringify(content, (name, value) => (name === 'token' ? undefined : value)))
}
