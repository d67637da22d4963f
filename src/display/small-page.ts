import { standalonePage, standalonePolicy } from './standalone-page.ts'
import { baseStyle } from './style.ts'

interface SmallPage {
  heading: string
  /** The page's paragraphs, as HTML. The caller must escape text that comes from outside the program. */
  lines: readonly string[]
}

/**
 * Returns a page and its HTTP headers, for the local web servers that some commands start. The page's address may
 * contain a secret code, so the page is not cached and the browser sends no referrer.
 */
export function smallPage({ heading, lines }: SmallPage): { page: string; headers: Record<string, string> } {
  const style = baseStyle()
  const paragraphs = lines.map((line) => `<p>${line}</p>`).join('\n')
  return {
    page: standalonePage({ title: heading, style, body: `<main>\n<h1>${heading}</h1>\n${paragraphs}\n</main>` }),
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `${standalonePolicy(style)}; frame-ancestors 'none'`,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    },
  }
}
