import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Expects that everything on the page and in its frames has enough contrast. */
export async function expectContrast(page: Page): Promise<void> {
  for (const frame of page.frames()) {
    // Without style sheets a page has no colors to compare.
    await frame.waitForLoadState('load')
    const look = () => frame.evaluate(weakContrasts) as Promise<{ weak: string[]; looked: number }>
    await expect.poll(async () => (await look()).weak, { message: frame.url() }).toEqual([])
    expect((await look()).looked).toBeGreaterThan(3)
  }
}

/** Runs in the browser: finds texts and edges with too little contrast (WCAG 2.2, 1.4.3 and 1.4.11). */
const weakContrasts = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  }
  const opaque = (color) => channels(color)[3] !== 0
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (opaque(backgroundColor)) return backgroundColor
    }
    throw new Error('nothing is behind ' + element.outerHTML)
  }
  const weak = []
  let looked = 0
  const look = (what, least, one, other) => {
    looked++
    if (ratio(one, other) < least) weak.push(what + ': ' + one + ' on ' + other + ' is ' + ratio(one, other).toFixed(2))
  }
  for (const element of document.body.querySelectorAll('*')) {
    if (!element.checkVisibility()) continue
    const style = getComputedStyle(element)
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    if (text) look(element.textContent.trim().slice(0, 40), 4.5, style.color, behind(element))
    if (element.matches('input:not([type=radio], [type=checkbox]), textarea')) {
      look(element.id, 4.5, style.color, behind(element))
      look(element.id + ' placeholder', 4.5, getComputedStyle(element, '::placeholder').color, behind(element))
      look(element.id + ' edge', 3, style.borderTopColor, behind(element.parentElement))
    }
    if (element.matches('button:not(.plain, .link)')) {
      const edge = style.borderTopStyle !== 'none' && opaque(style.borderTopColor) ? style.borderTopColor : style.backgroundColor
      look(element.id + ' edge', 3, edge, behind(element.parentElement))
    }
  }
  return { weak, looked }
})()`
