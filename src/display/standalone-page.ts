import { displayName } from '../core/product.ts'
import { sha256Base64 } from '../core/system.ts'
import { iconSvg, markPath } from './mark.ts'
import { markColor } from './tokens.ts'

/** The logo and the product name as HTML. */
export const mark = `<svg viewBox="0 0 16 16" aria-hidden="true"><path fill="${markColor}" fill-rule="evenodd" d="${markPath}"/></svg><span>${displayName}</span>`

/** The top of a page that is not part of the service's website. */
export const brand = `<div class="brand">${mark}</div>`

interface StandalonePage {
  title: string
  style: string
  script?: string
  /** The page's content, as HTML. */
  body: string
}

/** Returns an HTML document that loads no other files, so it can be saved, sent and opened anywhere. */
export function standalonePage({ title, style, script, body }: StandalonePage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${standalonePolicy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(iconSvg(markPath))}">
<style>${style}</style>
</head>
<body>
<header>${brand}</header>
${body}
${script === undefined ? '' : `<script>${script}</script>\n`}</body>
</html>
`
}

/** Returns a Content-Security-Policy that allows only the given style, the given script and images in `data:` URLs. */
export function standalonePolicy(style: string, script?: string): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${sha256Base64(style)}'`,
    ...(script === undefined ? [] : [`script-src 'sha256-${sha256Base64(script)}'`]),
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}
