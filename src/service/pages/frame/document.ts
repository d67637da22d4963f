import { html, raw } from 'hono/html'
import type { Html } from '../../../display/html.ts'
import { brand } from '../../../display/lone-page.ts'
import type { AssetPath } from './assets.ts'

export type { Html }

/** A form without a script. */
export interface PageForm {
  /** Where it goes: the page's own path. */
  action: string
  /** A text that only this site can know: it shows that the form came from here. */
  token: string
}

interface PageDocument {
  title: string
  /** Addresses of the style sheets, in their order, where they are not those of most pages. */
  styles?: readonly AssetPath[]
  /** Script elements. */
  scripts?: Html
  /** Whether the page stands within another, and has no mark and no banner of its own. */
  framed?: boolean
  body: Html
}

/** The room that a page has for the banner of the sandbox (banner.ts). */
export const bannerPlace = '<!-- banner -->'

/** The style sheets of most pages: the base, the parts, and what single pages have besides. */
const usual = ['/styles/base.css', '/styles/parts.css', '/styles/pages.css'] as const

/** The frame that every hosted page has. */
export function pageDocument({ title, styles = usual, scripts = html``, framed = false, body }: PageDocument): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="/favicon.ico" sizes="32x32">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${styles.map((path) => html`<link rel="stylesheet" href="${path}">`)}
${scripts}
</head>
<body>
${framed ? '' : raw(`${bannerPlace}\n${brand}`)}
${body}
</body>
</html>
`
}
