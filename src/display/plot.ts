import { html } from 'hono/html'
import { money } from '../core/money.ts'
import type { Html } from './html.ts'
import { amountScale, type Scale, type Tick } from './scales.ts'
import type { Column } from './table.ts'

/** A line of a plot. The pattern identifies the line for people who cannot tell the colors apart. */
export interface Line<Point> {
  name: string
  pattern: 'solid' | 'dashed' | 'dotted'
  cents: (point: Point) => number
}

/** A time to mark in the plot. `steps` contains the number of each timeline step at that time. */
export interface Mark {
  atMs: number
  steps: number[]
}

interface Plot<Point> {
  /** The prefix of the ids of the plot's elements. */
  id: string
  title: string
  /** A description of the plot for screen readers. */
  description?: string
  caption?: Html
  /** The points, oldest first. */
  points: readonly Point[]
  lines: readonly Line<Point>[]
  x: Scale
  marks?: readonly Mark[]
}

/**
 * Vertical positions in pixels. Horizontal positions are percentages, so that a phone can show a narrower plot without
 * shrinking the text.
 */
const top = 28
const bottom = 188
const height = 216
/** The width and height of the viewBox that contains the lines. The browser stretches it to the size of the plot. */
const viewBoxSide = 1000

/** Plots amounts over time. An amount changes at discrete moments, so its line has steps, not slopes. */
export function plot<Point extends { atMs: number }>(plotted: Plot<Point>): Html {
  const { id, title, description, caption, points, lines, x, marks = [] } = plotted
  const y = amountScale(points.flatMap((point) => lines.map(({ cents }) => cents(point))))
  return html`<figure>
${caption === undefined ? '' : html`<figcaption>${caption}</figcaption>`}
<ul class="line aside">${lines.map(({ name, pattern }) => html`<li><svg width="32" height="10" aria-hidden="true"><line class="${pattern}" x1="0" x2="32" y1="5" y2="5"/></svg> ${name}</li>`)}</ul>
<div class="axes">
<svg width="100%" height="${height}" aria-hidden="true">${y.ticks.map(({ share, label }) => html`<text x="0" y="${yOf(share) + 4}">${label}</text>`)}</svg>
<svg width="100%" height="${height}" role="img" aria-labelledby="${id}-plot${description === undefined ? '' : ` ${id}-description`}">
<title id="${id}-plot">${title}</title>
${description === undefined ? '' : html`<desc id="${id}-description">${description}</desc>`}
${y.ticks.map(({ share }) => html`<line class="grid" x1="0" x2="100%" y1="${yOf(share)}" y2="${yOf(share)}"/>`)}
${x.ticks.map(timeTick)}
<svg y="${top}" width="100%" height="${bottom - top}" viewBox="0 0 ${viewBoxSide} ${viewBoxSide}" preserveAspectRatio="none" overflow="visible">
${lines.map(({ pattern, cents }) => html`<path class="${pattern}" d="${stepPath(points, cents, x, y)}"/>`)}
</svg>
${drawMarks(marks, x)}
</svg>
</div>
</figure>`
}

/** Returns one table column for each line, with the amounts that the line shows. */
export function amountColumns<Point>(lines: readonly Line<Point>[]): Column<Point>[] {
  return lines.map(({ name, cents }) => ({ name, isNumber: true, cell: (point) => money(cents(point)) }))
}

function stepPath<Point extends { atMs: number }>(
  points: readonly Point[],
  cents: (point: Point) => number,
  x: Scale,
  y: Scale,
): string {
  const steps = points.map((point, index) => {
    const across = Math.round(x.shareOf(point.atMs) * viewBoxSide)
    const level = Math.round((1 - y.shareOf(cents(point))) * viewBoxSide)
    return index === 0 ? `M0 ${level}` : `H${across}V${level}`
  })
  return `${steps.join('')}H${viewBoxSide}`
}

function timeTick({ share, label }: Tick): Html {
  const at = percentOf(share)
  const anchor = share > 0.9 ? 'end' : share < 0.05 ? 'start' : 'middle'
  return html`<line class="grid" x1="${at}%" x2="${at}%" y1="${bottom}" y2="${bottom + 5}"/><text x="${at}%" y="${bottom + 20}" text-anchor="${anchor}">${label}</text>`
}

/** Draws a line and a triangle for each mark, and the number of the mark's first step if there is room. */
function drawMarks(marks: readonly Mark[], x: Scale): Html[] {
  let lastNumber = -Infinity
  return marks.map(({ atMs, steps }) => {
    const share = x.shareOf(atMs)
    const at = percentOf(share)
    const hasRoom = share - lastNumber >= minNumberGap
    if (hasRoom) lastNumber = share
    const number = hasRoom ? html`<text x="${at}%" y="12" text-anchor="middle">${steps[0]}</text>` : ''
    return html`<line class="mark" x1="${at}%" x2="${at}%" y1="${top}" y2="${bottom}"/>${number}<text class="triangle" x="${at}%" y="24" text-anchor="middle">▼</text>`
  })
}

/** The share of the plot's width that a step number needs on a phone. */
const minNumberGap = 0.06

/** Converts a share of the amount range to a vertical position in pixels. */
function yOf(share: number): number {
  return round(bottom - share * (bottom - top))
}

const percentOf = (share: number) => round(share * 100)

const round = (value: number) => Math.round(value * 100) / 100
