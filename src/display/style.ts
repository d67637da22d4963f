import { builtin } from '../core/builtin.ts'
import { tokensByBrowser, tokensByPage } from './tokens.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/** Returns what even the smallest page looks like: the tokens, and the elements that every page has. */
export function baseStyle(): string {
  return `${tokensByBrowser}${file('base.css')}`
}

/** Returns the look of the parts that pages, reports and views are composed of. It stands behind the base. */
export function partsStyle(): string {
  return file('parts.css')
}

/** Returns the whole style of a document within another page, which may ask for the light or the dark. */
export function framedStyle(): string {
  return `${tokensByPage}${file('base.css')}${file('parts.css')}`
}

/** The files lie beside this one, in `dist` and in the bundle too. */
function file(name: 'base.css' | 'parts.css'): string {
  return files().readFileSync(new URL(`./styles/${name}`, import.meta.url), 'utf8')
}
