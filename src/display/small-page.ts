import { displayName } from '../core/product.ts'
import { sha256Base64 } from '../core/system.ts'
import { iconSvg, markPath } from './mark.ts'
import { pageStyle } from './page-style.ts'
import { markColor } from './palette.ts'

/** The mark and the name, above what a page says. */
export const brand = `<div class="brand"><svg viewBox="0 0 16 16" aria-hidden="true"><path fill="${markColor}" fill-rule="evenodd" d="${markPath}"/></svg><span>${displayName}</span></div>`

interface SmallPage {
  heading: string
  /** Sentences of our own: they are not escaped. */
  lines: readonly string[]
}

/**
 * A page of a command that listens on this machine for a moment. It loads nothing, no page frames it, it is kept nowhere,
 * and tells nobody where it was: its address may hold a code.
 */
export function smallPage({ heading, lines }: SmallPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(iconSvg(markPath))}">
<style>${pageStyle}</style>
</head>
<body>
${brand}
<main>
<h1>${heading}</h1>
${lines.map((line) => `<p>${line}</p>`).join('\n')}
</main>
</body>
</html>
`
}

export const smallPageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    // The one style sheet, by what it says.
    `style-src 'sha256-${sha256Base64(pageStyle)}'`,
    // The mark.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const
