import { html } from 'hono/html'

export type Html = ReturnType<typeof html>

interface PageDocument {
  title: string
  /** Addresses of the style sheets, in their order. */
  styles: readonly string[]
  /** Script elements. */
  scripts?: Html
  body: Html
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
