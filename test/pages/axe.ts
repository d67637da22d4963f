import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The three appearances in which axe checks a page. The Content-Security-Policy is off, because it would block axe. */
export const axeLooks = (
  [
    { name: 'desktop', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
    { name: 'phone', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
    { name: 'dark', viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  ] as const
).map(({ name, ...looks }) => ({ name, options: { ...looks, bypassCSP: true, reducedMotion: 'reduce' } as const }))

/** Runs axe on a page and its frames. Returns the rule and the first element of each violation. */
export async function axeViolations(page: Page): Promise<string[]> {
  for (const frame of page.frames()) await frame.evaluate(axe)
  return (await page.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))",
  )) as string[]
}
