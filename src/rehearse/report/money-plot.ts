import { html } from 'hono/html'
import { money } from '../../core/money.ts'
import type { MoneyPoint, Trial } from '../results.ts'
import { stepAnchor, trialAnchor } from './anchors.ts'
import { dayAndTime, elapsed } from './moments.ts'
import { type Scale, type Tick, timeScale, valueTicks } from './scales.ts'
import type { Html } from './shown.ts'
import { counted } from './words.ts'

/** The lines of the plot; a pattern of its own tells each from the others without color. */
const lines = [
  { name: 'Available', className: 'available', of: (point: MoneyPoint) => point.availableCents },
  { name: 'Held', className: 'held', of: (point: MoneyPoint) => point.heldCents },
  { name: 'Spent', className: 'spent', of: (point: MoneyPoint) => point.spentCents },
] as const

/** Pixels from above; sideways all is told in shares of the width, so that letters keep their size on a phone. */
const top = 28
const bottom = 188
const height = 216
/** The field of the lines, which is stretched to its place. */
const field = 1000

interface Mark {
  atMs: number
  /** Steps of the timeline, from 1. */
  steps: number[]
}

/** The money over the sandbox's time, with a mark where a step moved some, and the same as a table. */
export function moneyPlot(id: string, trial: Trial): Html {
  const points = trial.money.toSorted((one, other) => one.atMs - other.atMs)
  const [first] = points
  if (first === undefined) return html`<p class="aside">No money was looked at.</p>`
  const marks = marksOf(trial)
  const times = [...points, ...trial.timeline].map(({ atMs }) => atMs)
  const x = timeScale([
    Math.min(...times),
    ...points.map(({ atMs }) => atMs),
    ...marks.map(({ atMs }) => atMs),
    Math.max(...times),
  ])
  const y = valueTicks(points.flatMap((point) => lines.map((one) => one.of(point))))
  const anchor = trialAnchor(id, trial)
  return html`<figure class="plot">
<figcaption>Money over the sandbox’s time <span class="aside">Long waits are drawn shorter. ▼ marks a step of which the ledger tells.</span></figcaption>
<ul class="legend line aside">${lines.map(({ name, className }) => html`<li><svg width="32" height="10" aria-hidden="true"><line class="${className}" x1="0" x2="32" y1="5" y2="5"/></svg>${name}</li>`)}</ul>
<div class="axes">
<svg width="100%" height="${height}" aria-hidden="true">${y.ticks.map(({ share, label }) => html`<text x="0" y="${down(share) + 4}">${label}</text>`)}</svg>
<svg width="100%" height="${height}" role="img" aria-labelledby="${anchor}-plot ${anchor}-told">
<title id="${anchor}-plot">Money over the sandbox’s time</title>
<desc id="${anchor}-told">${told(points, marks)}</desc>
${y.ticks.map(({ share }) => html`<line class="grid" x1="0" x2="100%" y1="${down(share)}" y2="${down(share)}"/>`)}
${x.ticks.map(timeTick)}
<svg y="${top}" width="100%" height="${bottom - top}" viewBox="0 0 ${field} ${field}" preserveAspectRatio="none" overflow="visible">
${lines.map(({ className, of }) => html`<path class="${className}" d="${stepPath(points, of, x, y.shareOf)}"/>`)}
</svg>
${markTexts(marks, x)}
</svg>
</div>
${table(id, trial, points, marks)}
</figure>`
}

function marksOf({ timeline }: Trial): Mark[] {
  const found = new Map<number, number[]>()
  for (const [index, { atMs, moves }] of timeline.entries()) {
    if (moves.length > 0) found.set(atMs, [...(found.get(atMs) ?? []), index + 1])
  }
  return [...found].map(([atMs, steps]) => ({ atMs, steps })).toSorted((one, other) => one.atMs - other.atMs)
}

/** What the plot shows, in words. */
function told(points: readonly MoneyPoint[], marks: readonly Mark[]): string {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return ''
  const mostHeld = Math.max(...points.map(({ heldCents }) => heldCents))
  return [
    `Available: from ${money(first.availableCents)} to ${money(last.availableCents)}.`,
    `Held: at most ${money(mostHeld)}, in the end ${money(last.heldCents)}.`,
    `Spent in the end: ${money(last.spentCents)}.`,
    `${counted(marks.length, 'moment')} of which the ledger tells. The table below has each change.`,
  ].join(' ')
}

/** Money stays what it is until it changes: a line of steps, not of slopes. */
function stepPath(
  points: readonly MoneyPoint[],
  of: (point: MoneyPoint) => number,
  x: Scale,
  shareOf: (cents: number) => number,
): string {
  const steps = points.map((point, index) => {
    const across = Math.round(x.shareOf(point.atMs) * field)
    const down = Math.round((1 - shareOf(of(point))) * field)
    return index === 0 ? `M0 ${down}` : `H${across}V${down}`
  })
  return `${steps.join('')}H${field}`
}

function timeTick({ share, label }: Tick): Html {
  const at = percentOf(share)
  const anchor = share > 0.9 ? 'end' : share < 0.05 ? 'start' : 'middle'
  return html`<line class="grid" x1="${at}%" x2="${at}%" y1="${bottom}" y2="${bottom + 5}"/><text x="${at}%" y="${bottom + 20}" text-anchor="${anchor}">${label}</text>`
}

/** A triangle above each moment, and the number of its step where there is room for it. */
function markTexts(marks: readonly Mark[], x: Scale): Html[] {
  let lastNumber = -Infinity
  return marks.map(({ atMs, steps }) => {
    const share = x.shareOf(atMs)
    const at = percentOf(share)
    const hasRoom = share - lastNumber >= leastBetweenNumbers
    if (hasRoom) lastNumber = share
    const number = hasRoom ? html`<text x="${at}%" y="12" text-anchor="middle">${steps[0]}</text>` : ''
    return html`<line class="mark" x1="${at}%" x2="${at}%" y1="${top}" y2="${bottom}"/>${number}<text class="triangle" x="${at}%" y="24" text-anchor="middle">▼</text>`
  })
}

/** Share of the width that a number takes on a phone. */
const leastBetweenNumbers = 0.06

/** How far down a share of the amounts is drawn, in pixels. */
function down(share: number): number {
  return round(bottom - share * (bottom - top))
}

const percentOf = (share: number) => round(share * 100)

const round = (value: number) => Math.round(value * 100) / 100

function table(id: string, trial: Trial, points: readonly MoneyPoint[], marks: readonly Mark[]): Html {
  const began = points[0]?.atMs ?? 0
  const rows = points.slice(0, mostRows).map((point) => {
    const { day, time } = dayAndTime(point.atMs)
    const steps = marks.find(({ atMs }) => atMs === point.atMs)?.steps ?? []
    const links = steps.map((step) => html`<a href="#${stepAnchor(id, trial, step)}">${step}</a> `)
    return html`<tr><th scope="row"><time datetime="${day}T${time}Z">${day} ${time}</time> <span class="aside">+${elapsed(point.atMs - began)}</span></th>${lines.map(({ of }) => html`<td>${money(of(point))}</td>`)}<td>${links}</td></tr>`
  })
  const left = points.length - rows.length
  const more = left === 0 ? '' : html`<p class="aside">${counted(left, 'more change')}: results.json has them.</p>`
  return html`<details class="fold"><summary>The same in numbers</summary>
<div class="wide"><table class="numbers"><thead><tr><th scope="col">Time (UTC)</th>${lines.map(({ name }) => html`<th scope="col">${name}</th>`)}<th scope="col">Step</th></tr></thead><tbody>${rows}</tbody></table></div>${more}</details>`
}

const mostRows = 60
