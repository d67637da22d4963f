import { readFile } from 'node:fs/promises'
import type { Hono } from 'hono'
import { paletteByBrowser } from '../../../core/palette.ts'
import { ownFileHeaders, sharedFileHeaders } from './headers.ts'

const javaScript = { 'Content-Type': 'text/javascript; charset=utf-8', ...ownFileHeaders } as const
const css = { 'Content-Type': 'text/css; charset=utf-8', ...ownFileHeaders } as const

/** The files that browsers load, by their addresses, each with its headers. */
export const assets = {
  '/checkout/library.js': { ...javaScript, ...sharedFileHeaders },
  '/checkout/page.js': javaScript,
  '/checkout/form.js': javaScript,
  '/checkout/requests.js': javaScript,
  '/styles/base.css': css,
  '/styles/checkout.css': css,
  '/styles/forms.css': css,
} as const satisfies Record<string, Record<string, string>>

export type AssetPath = keyof typeof assets

/** Serves the files. Each is read once, when it is first asked for. */
export function mountAssets(app: Hono): void {
  const texts = new Map<AssetPath, Promise<string>>()
  for (const path of Object.keys(assets) as AssetPath[]) {
    app.get(path, async (c) => {
      const text = texts.get(path) ?? textOf(path)
      texts.set(path, text)
      return c.body(await text, 200, assets[path])
    })
  }
}

/** The files lie beside this one, in `dist` and in the bundle too. The base sheet begins with the palette. */
async function textOf(path: AssetPath): Promise<string> {
  const text = await readFile(new URL(`./assets/${path.split('/').at(-1)}`, import.meta.url), 'utf8')
  return path === '/styles/base.css' ? `${paletteByBrowser}\n${text}` : text
}
