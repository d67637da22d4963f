import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Expects that everything on the page and in its frames has enough contrast. */
export async function expectContrast(page: Page): Promise<void> {
  for (const frame of page.frames()) {
    // The final colors are known only after the style sheets are loaded.
    await frame.waitForLoadState('load')
    const check = () => frame.evaluate(weakContrasts) as Promise<{ weak: string[]; checkedCount: number }>
    await expect.poll(async () => (await check()).weak, { message: frame.url() }).toEqual([])
    expect((await check()).checkedCount).toBeGreaterThan(3)
  }
}

/** A browser script that finds text and borders with too little contrast (WCAG 2.2, criteria 1.4.3 and 1.4.11). */
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
  const backgroundOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (opaque(backgroundColor)) return backgroundColor
    }
    throw new Error('no background color behind ' + element.outerHTML)
  }
  const weak = []
  let checkedCount = 0
  const check = (what, minimum, color, background) => {
    checkedCount++
    const contrast = ratio(color, background)
    if (contrast < minimum) weak.push(what + ': ' + color + ' on ' + background + ' is ' + contrast.toFixed(2))
  }
  for (const element of document.body.querySelectorAll('*')) {
    if (!element.checkVisibility()) continue
    const style = getComputedStyle(element)
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    if (text) check(element.textContent.trim().slice(0, 40), 4.5, style.color, backgroundOf(element))
    if (element.matches('input:not([type=radio], [type=checkbox]), textarea')) {
      check(element.id, 4.5, style.color, backgroundOf(element))
      check(element.id + ' placeholder', 4.5, getComputedStyle(element, '::placeholder').color, backgroundOf(element))
      check(element.id + ' border', 3, style.borderTopColor, backgroundOf(element.parentElement))
    }
    if (element.matches('button:not(.plain, .link)')) {
      const border = style.borderTopStyle !== 'none' && opaque(style.borderTopColor) ? style.borderTopColor : style.backgroundColor
      check(element.id + ' border', 3, border, backgroundOf(element.parentElement))
    }
  }
  return { weak, checkedCount }
})()`
