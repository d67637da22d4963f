import { html, raw } from 'hono/html'
import type { Html } from '../../../display/html.ts'
import { brand } from '../../../display/standalone-page.ts'
import type { AssetPath } from './assets.ts'

export type { Html }

/** A form without a script. */
export interface PageForm {
  /** The form's target: the page's own path. */
  action: string
  /** A value that only this site can know: it proves that the form came from here. */
  token: string
}

interface PageDocument {
  title: string
  /** The addresses of the style sheets in order, if they differ from the usual ones. */
  styles?: readonly AssetPath[]
  scripts?: Html
  /** Whether the page is embedded in another one, and so has no mark and no banner. */
  framed?: boolean
  body: Html
}

/** The placeholder for the sandbox's banner (banner.ts). */
export const bannerPlace = '<!-- banner -->'

/** The style sheets of most pages: the base, the parts, and the additions of single pages. */
const usual = ['/styles/base.css', '/styles/parts.css', '/styles/pages.css'] as const

/** Renders the frame of every hosted page. */
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
