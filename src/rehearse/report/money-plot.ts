import { html } from 'hono/html'
import { money } from '../../core/money.ts'
import type { Html } from '../../display/html.ts'
import { amountColumns, type Line, type Mark, plot } from '../../display/plot.ts'
import { timeScale } from '../../display/scales.ts'
import { table } from '../../display/table.ts'
import { dayAndTime, elapsed } from '../../display/times.ts'
import type { MoneyPoint, Trial } from '../results.ts'
import { stepAnchor, trialAnchor } from './anchors.ts'
import { countWithNoun } from './words.ts'

const lines: readonly Line<MoneyPoint>[] = [
  { name: 'Available', pattern: 'solid', cents: (point) => point.availableCents },
  { name: 'Held', pattern: 'dashed', cents: (point) => point.heldCents },
  { name: 'Spent', pattern: 'dotted', cents: (point) => point.spentCents },
]

/**
 * Renders the balances over time, by the sandbox clock, as a plot and as a table. Marks show the steps that moved
 * money.
 */
export function moneyPlot(id: string, trial: Trial): Html {
  const points = trial.money.toSorted((one, other) => one.atMs - other.atMs)
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return html`<p class="aside">No balances were recorded.</p>`
  const marks = marksOf(trial)
  const times = [...points, ...trial.timeline].map(({ atMs }) => atMs)
  const moments = [...points, ...marks].map(({ atMs }) => atMs)
  const title = 'Money over time, on the sandbox clock'
  const note = 'Long waits are compressed. ▼ marks a step that moved money.'
  return html`${plot({
    id: trialAnchor(id, trial),
    title,
    description: plotDescription(points, first, last, marks),
    caption: html`<strong>${title}</strong> <span class="aside">${note}</span>`,
    points,
    lines,
    x: timeScale([Math.min(...times), ...moments, Math.max(...times)]),
    marks,
  })}
${balanceTable(id, trial, points, marks)}`
}

function marksOf({ timeline }: Trial): Mark[] {
  const stepsByTime = new Map<number, number[]>()
  for (const [index, { atMs, moves }] of timeline.entries()) {
    if (moves.length > 0) stepsByTime.set(atMs, [...(stepsByTime.get(atMs) ?? []), index + 1])
  }
  return [...stepsByTime].map(([atMs, steps]) => ({ atMs, steps })).toSorted((one, other) => one.atMs - other.atMs)
}

/** Describes the plot in words. */
function plotDescription(
  points: readonly MoneyPoint[],
  first: MoneyPoint,
  last: MoneyPoint,
  marks: readonly Mark[],
): string {
  const maxHeld = Math.max(...points.map(({ heldCents }) => heldCents))
  return [
    `Available: from ${money(first.availableCents)} to ${money(last.availableCents)}.`,
    `Held: at most ${money(maxHeld)}, ${money(last.heldCents)} at the end.`,
    `Spent: ${money(last.spentCents)} at the end.`,
    `Money moved at ${countWithNoun(marks.length, 'moment')}. The table below has each change.`,
  ].join(' ')
}

function balanceTable(id: string, trial: Trial, points: readonly MoneyPoint[], marks: readonly Mark[]): Html {
  const began = points[0]?.atMs ?? 0
  const when = ({ atMs }: MoneyPoint) => {
    const { day, time } = dayAndTime(atMs)
    return html`<time datetime="${day}T${time}Z">${day} ${time}</time> <span class="aside">+${elapsed(atMs - began)}</span>`
  }
  const steps = (point: MoneyPoint) =>
    (marks.find(({ atMs }) => atMs === point.atMs)?.steps ?? []).map(
      (step) => html`<a href="#${stepAnchor(id, trial, step)}">${step}</a> `,
    )
  const visiblePoints = points.slice(0, maxRows)
  const left = points.length - visiblePoints.length
  const more = left === 0 ? '' : html`<p class="aside">${countWithNoun(left, 'more change')}: see results.json.</p>`
  return html`<details class="fold"><summary>As a table</summary>
${table('Money over time', [{ name: 'Time (UTC)', cell: when }, ...amountColumns(lines), { name: 'Step', isNumber: true, cell: steps }], visiblePoints)}${more}</details>`
}

const maxRows = 60
