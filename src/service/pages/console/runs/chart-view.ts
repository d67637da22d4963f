import { html } from 'hono/html'
import { timestamp } from '../../../../core/system.ts'
import { table } from '../../../../display/table.ts'
import { elapsed } from '../../../../display/times.ts'
import type { Html } from '../../frame/document.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'
import type { RunsOverTime } from './read-runs.ts'

type Bucket = RunsOverTime['buckets'][number]

/** The height of a row of bars, in pixels. */
const height = 56
/** The minimum height of a bar, in pixels, and the gap between bars, in percent of the chart's width. */
const [minHeight, gap] = [2, 0.2]

/**
 * Renders two rows of bars: calls over time and dollars spent over time. With JavaScript, a click or drag on the bars
 * filters the runs by time. Without JavaScript, the person can use the time fields above the list instead.
 */
export function runsChart(period: RunsOverTime, nowMs: number): Html {
  const { fromMs, bucketMs, count, buckets } = period
  const untilMs = Math.min(fromMs + count * bucketMs, Math.max(nowMs, fromMs))
  const calls = buckets.reduce((sum, one) => sum + one.calls, 0)
  const spent = buckets.reduce((sum, one) => sum + one.spentCents, 0)
  const ends = `${shortMomentOf(fromMs)} to ${shortMomentOf(untilMs)} UTC`
  return html`<figure class="box over-time" aria-label="Calls and dollars over time">
<div data-chart data-from="${fromMs}" data-bucket="${bucketMs}" data-count="${count}">
${row(period, { id: 'calls', name: 'Calls', total: String(calls), maximum: String(maxOf(buckets, (one) => one.calls)), ends }, (one) => [one.calls - one.refused, one.refused])}
${row(period, { id: 'spent', name: 'Spent', total: dollars(spent), maximum: dollars(maxOf(buckets, (one) => one.spentCents)), ends }, (one) => [Math.max(0, one.spentCents), 0])}
<div class="selection" hidden data-selection></div>
</div>
<p class="line spread aside"><time datetime="${timestamp(fromMs)}">${shortMomentOf(fromMs)}</time><time datetime="${timestamp(untilMs)}">${shortMomentOf(untilMs)}</time></p>
<p class="aside">Each bar covers ${elapsed(bucketMs)}.<span class="scripted"> Click a bar, or drag across several, to show only the runs in that time.</span></p>
<details id="chart-table"><summary id="chart-table-shown">Show as a table</summary>
${table(
  'Calls and dollars over time',
  [
    { name: 'From (UTC)', cell: ({ atMs }) => html`<time datetime="${timestamp(atMs)}">${shortMomentOf(atMs)}</time>` },
    { name: 'Calls', isNumber: true, cell: (one) => String(one.calls) },
    { name: 'Failed', isNumber: true, cell: (one) => String(one.refused) },
    { name: 'Spent', isNumber: true, cell: (one) => dollars(one.spentCents) },
  ],
  buckets,
)}</details>
</figure>`
}

const maxOf = (buckets: readonly Bucket[], value: (one: Bucket) => number) => Math.max(0, ...buckets.map(value))

interface Row {
  id: string
  name: string
  total: string
  maximum: string
  ends: string
}

/** Renders one row of bars. In each bar, the part for the failed calls is above the part for the other calls. */
function row(
  { fromMs, bucketMs, count, buckets }: RunsOverTime,
  { id, name, total, maximum, ends }: Row,
  partsOf: (one: Bucket) => readonly [good: number, failed: number],
): Html {
  const highest = Math.max(1, ...buckets.map((one) => partsOf(one)[0] + partsOf(one)[1]))
  const width = 100 / count
  const bars = buckets.map((one) => {
    const [good, failed] = partsOf(one)
    if (good + failed <= 0) return ''
    const whole = Math.max(minHeight, (height * (good + failed)) / highest)
    const bad = (whole * failed) / (good + failed)
    const x = round(((one.atMs - fromMs) / bucketMs) * width + gap / 2)
    const text = `${shortMomentOf(one.atMs)}: ${one.calls} calls, ${one.refused} failed, ${dollars(one.spentCents)}`
    const part = (color: string, y: number, tall: number) =>
      tall === 0
        ? ''
        : html`<rect class="${color}" x="${x}%" width="${round(Math.max(0.1, width - gap))}%" y="${round(y)}" height="${round(tall)}"/>`
    return html`<g><title>${text}</title>${part('calm', height - whole + bad, whole - bad)}${part('bad', height - whole, bad)}</g>`
  })
  return html`<div class="row-head line spread"><span>${name} <strong>${total}</strong></span><span class="aside">highest bar ${maximum}</span></div>
<svg width="100%" height="${height}" role="img" aria-labelledby="${id}-over-time"><title id="${id}-over-time">${name}: ${total}, ${ends}</title>
<line class="grid" x1="0" x2="100%" y1="${height - 0.5}" y2="${height - 0.5}"/>${bars}</svg>`
}

const round = (value: number) => Math.round(value * 100) / 100
