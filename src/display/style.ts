import { builtin } from '../core/builtin.ts'
import { tokensByBrowser, tokensByPage } from './tokens.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/** Returns the style that every page needs: the design tokens and the rules for basic elements. */
export function baseStyle(): string {
  return `${tokensByBrowser}${file('base.css')}`
}

/** Returns the style of the parts that make up pages, reports and views. It must come after the base style. */
export function partsStyle(): string {
  return file('parts.css')
}

/** Returns the complete style of an embedded view. The embedding page may choose the light or the dark scheme. */
export function framedStyle(): string {
  return `${tokensByPage}${file('base.css')}${file('parts.css')}`
}

/** Reads a style sheet. Its path relative to this module is the same in `src`, `dist` and the bundle. */
function file(name: 'base.css' | 'parts.css'): string {
  return files().readFileSync(new URL(`./styles/${name}`, import.meta.url), 'utf8')
}
