import { html, raw } from 'hono/html'
import type { Html } from '../../../display/html.ts'
import type { AssetPath } from './assets.ts'

export type { Html }

/** A form that works without JavaScript. */
export interface PageForm {
  /** The path to which the form is sent. */
  action: string
  /** A secret in the form, which proves that this site created the form. */
  token: string
}

interface PageDocument {
  title: string
  /** The addresses of the style sheets, in order. The default is the list that most pages use. */
  styles?: readonly AssetPath[]
  scripts?: Html
  /** Whether the page is embedded in another page. If so, it has no banner and no bar. */
  framed?: boolean
  body: Html
}

/** The placeholder for the sandbox's banner (banner.ts). */
export const bannerPlaceholder = '<!-- banner -->'
/** The placeholder for the site's bar (bar.ts). */
export const barPlaceholder = '<!-- bar -->'

/** The style sheets of most pages. */
const usual = ['/styles/base.css', '/styles/parts.css', '/styles/bar.css', '/styles/pages.css'] as const

/** Renders a whole HTML document around a page's content. */
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
${framed ? '' : raw(`<header>\n${bannerPlaceholder}\n${barPlaceholder}\n</header>`)}
${body}
</body>
</html>
`
}

/**
 * Fills in the placeholders of a page. Other responses, such as downloads, are returned unchanged. Untrusted text in a
 * page is escaped, so it cannot contain a placeholder.
 */
export async function fillPlaceholders(
  response: Response,
  texts: () => Promise<Readonly<Record<string, string>>>,
): Promise<Response> {
  const { headers } = response
  if (!headers.get('content-type')?.startsWith('text/html') || headers.has('content-disposition')) return response
  const page = await response.text()
  if (!page.includes(bannerPlaceholder) && !page.includes(barPlaceholder)) return new Response(page, response)
  const filled = Object.entries(await texts()).reduce((all, [key, text]) => all.replace(key, () => text), page)
  return new Response(filled, response)
}
