import { readFile } from 'node:fs/promises'
import type { Hono } from 'hono'
import { iconSvg, markPath } from '../../../display/mark.ts'
import { markIco } from '../../../display/mark-image.ts'
import { baseStyle, partsStyle } from '../../../display/style.ts'
import { ownFileHeaders, sharedFileHeaders } from './headers.ts'

const javaScript = { 'Content-Type': 'text/javascript; charset=utf-8', ...ownFileHeaders } as const
const css = { 'Content-Type': 'text/css; charset=utf-8', ...ownFileHeaders } as const

/** The headers of each file in the folder `assets`. The keys are the addresses from which browsers load the files. */
export const assets = {
  '/checkout/library.js': { ...javaScript, ...sharedFileHeaders },
  '/checkout/page.js': javaScript,
  '/checkout/form.js': javaScript,
  '/checkout/requests.js': javaScript,
  '/styles/checkout.css': css,
  '/styles/pages.css': css,
  '/styles/bar.css': css,
  '/scripts/copy.js': javaScript,
  '/styles/console.css': css,
  '/scripts/console.js': javaScript,
  '/scripts/redraw.js': javaScript,
} as const satisfies Record<string, Record<string, string>>

export type AssetPath = keyof typeof assets | '/styles/base.css' | '/styles/parts.css'

/** The headers of the logo. Browsers may cache the logo for a day, because every page uses it and it seldom changes. */
const logoHeaders = { 'Cache-Control': 'public, max-age=86400', 'X-Content-Type-Options': 'nosniff' } as const

/** Mounts the style sheets, the scripts and the logo. Each file is read once, when it is first requested. */
export function mountAssets(app: Hono): void {
  app.get('/styles/base.css', (c) => c.body(baseStyle(), 200, css))
  app.get('/styles/parts.css', (c) => c.body(partsStyle(), 200, css))
  const svg = { ...logoHeaders, 'Content-Type': 'image/svg+xml', 'Content-Security-Policy': "default-src 'none'" }
  app.get('/favicon.svg', (c) => c.body(iconSvg(markPath), 200, svg))
  app.get('/favicon.ico', (c) =>
    c.body(new Uint8Array(markIco(32)), 200, { ...logoHeaders, 'Content-Type': 'image/x-icon' }),
  )
  const texts = new Map<keyof typeof assets, Promise<string>>()
  for (const path of Object.keys(assets) as (keyof typeof assets)[]) {
    app.get(path, async (c) => {
      const text = texts.get(path) ?? textOf(path)
      texts.set(path, text)
      return c.body(await text, 200, assets[path])
    })
  }
}

/** Reads a file in the folder `assets`. In `dist` and in the bundle, this folder is also next to this module. */
function textOf(path: keyof typeof assets): Promise<string> {
  return readFile(new URL(`./assets/${path.split('/').at(-1)}`, import.meta.url), 'utf8')
}
