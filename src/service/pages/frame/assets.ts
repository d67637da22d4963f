import { readFile } from 'node:fs/promises'
import { ownFileHeaders, sharedFileHeaders } from './headers.ts'

const javaScript = { 'Content-Type': 'text/javascript; charset=utf-8' }
const css = { 'Content-Type': 'text/css; charset=utf-8' }

/** The files that browsers load, each with its headers. They lie beside this file, in `dist` and in the bundle too. */
export const assets = {
  'library.js': { ...javaScript, ...sharedFileHeaders },
  'page.js': { ...javaScript, ...ownFileHeaders },
  'form.js': { ...javaScript, ...ownFileHeaders },
  'requests.js': { ...javaScript, ...ownFileHeaders },
  'style.css': { ...css, ...ownFileHeaders },
  'connect.css': { ...css, ...ownFileHeaders },
  'verify.css': { ...css, ...ownFileHeaders },
  'oauth.css': { ...css, ...ownFileHeaders },
} as const satisfies Record<string, Record<string, string>>

type AssetName = keyof typeof assets

/** Those of the checkout. */
export const checkoutAssets = ['library.js', 'page.js', 'form.js', 'requests.js', 'style.css'] as const

/** Reads each file once, when it is first asked for. */
export function createAssets(): (name: AssetName) => Promise<Response> {
  const texts = new Map<AssetName, Promise<string>>()
  return async (name) => {
    const text = texts.get(name) ?? readFile(new URL(`./assets/${name}`, import.meta.url), 'utf8')
    texts.set(name, text)
    return new Response(await text, { headers: assets[name] })
  }
}
