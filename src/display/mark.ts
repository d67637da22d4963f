import { markColor } from './tokens.ts'

/** A card with a stripe, on a field of 16 by 16: left, top, right, bottom. It is the mark of everything here. */
export const card = [1, 3, 15, 13] as const
export const stripe = [1, 5, 15, 7] as const

/** The outlines of both as the path of an SVG, to be filled by the rule “evenodd”. */
export const markPath = [card, stripe]
  .map(([left, top, right, bottom]) => `M${left} ${top}H${right}V${bottom}H${left}z`)
  .join('')

/** A drawing by one path on a field of 16 by 16, as a document of its own. */
export function iconSvg(path: string): string {
  return `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='${markColor}' fill-rule='evenodd' d='${path}'/></svg>`
}
