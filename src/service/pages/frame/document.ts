import { html } from 'hono/html'

export type Html = ReturnType<typeof html>

/** A form without a script. */
export interface PageForm {
  /** Where it goes: the page's own path. */
  action: string
  /** What another site can't know. */
  token: string
}

interface PageDocument {
  title: string
  /** Addresses of the style sheets, in their order. */
  styles: readonly string[]
  /** Script elements. */
  scripts?: Html
  body: Html
}

/** The body of a page that says one thing. */
export function messageBody(heading: string, text: string, link?: { href: string; text: string }): Html {
  const more = link === undefined ? '' : html`<p><a href="${link.href}">${link.text}</a></p>`
  return html`<main><h1>${heading}</h1><p>${text}</p>${more}</main>`
}

export function sandboxBanner(isSandbox: boolean): Html {
  return isSandbox ? html`<header class="sandbox">Sandbox: no real money</header>` : html``
}

/** The frame that every hosted page has. */
export function pageDocument({ title, styles, scripts = html``, body }: PageDocument): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
${styles.map((href) => html`<link rel="stylesheet" href="${href}">`)}
${scripts}
</head>
<body>
${body}
</body>
</html>
`
}
