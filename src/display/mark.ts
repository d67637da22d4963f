import { markColor } from './tokens.ts'

/** The logo, on a 16 × 16 grid: a card with a stripe. Each shape lists its left, top, right and bottom edges. */
export const card = [1, 3, 15, 13] as const
export const stripe = [1, 5, 15, 7] as const

/** The outlines of the card and the stripe as one SVG path. With the fill rule `evenodd`, the stripe is a hole. */
export const markPath = [card, stripe]
  .map(([left, top, right, bottom]) => `M${left} ${top}H${right}V${bottom}H${left}z`)
  .join('')

/** Returns an SVG document that draws a path on a 16 × 16 grid in the color of the logo. */
export function iconSvg(path: string): string {
  return `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='${markColor}' fill-rule='evenodd' d='${path}'/></svg>`
}
