import { html } from 'hono/html'
import { timestamp } from '../../../../core/system.ts'
import type { Html } from '../../frame/document.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'

/** An entry of the ledger in one of a wallet's two accounts. */
export interface WalletEntry {
  account: string
  amountCents: number
  createdAtMs: number
}

/** What a wallet had from a moment on, in cents. */
export interface Step {
  atMs: number
  availableCents: number
  heldCents: number
}

/**
 * What a wallet had over time, the oldest first: computed backwards from what it has now, for the entries before those
 * that are given are not known here. What moves at one moment is one step.
 * @param entries The newest first.
 * @param most At most so many steps; of those in between the last of each stretch is kept.
 */
export function stepsOf(
  now: Pick<Step, 'availableCents' | 'heldCents'>,
  entries: readonly WalletEntry[],
  most = 200,
): Step[] {
  let { availableCents, heldCents } = now
  const steps: Step[] = []
  for (const { account, amountCents, createdAtMs: atMs } of entries) {
    if (steps.at(-1)?.atMs !== atMs) steps.push({ atMs, availableCents, heldCents })
    if (account === 'available') availableCents -= amountCents
    else heldCents -= amountCents
  }
  const every = Math.max(1, Math.ceil(steps.length / most))
  return steps.filter((_, at) => at % every === 0).reverse()
}

const [width, height, left, bottom] = [640, 160, 4, 140] as const

/** The steps as a picture: what is available as a line, what is held on top of it as an area. */
export function plot(steps: readonly Step[], nowMs: number, name: string, isCut = false): Html {
  const [first] = steps
  if (first === undefined) return html`<p class="aside">${isCut ? 'Nothing moved lately.' : 'Nothing moved yet.'}</p>`
  const most = Math.max(1, ...steps.map(({ availableCents, heldCents }) => availableCents + heldCents))
  const lowest = Math.min(...steps.map(({ availableCents }) => availableCents))
  const span = most - lowest
  // What hardly changes would be a line on top of a block: then the picture begins near it, as its words say.
  const least = span < lowest ? lowest - Math.max(span, lowest / 4) / 2 : Math.min(0, lowest)
  // What moved at this moment alone is a line over the whole picture, for it is so from its beginning to its end.
  const sinceMs = Math.min(first.atMs, nowMs - 1)
  const x = (ms: number) => left + ((ms - sinceMs) / (nowMs - sinceMs)) * (width - 2 * left)
  const y = (cents: number) => bottom - ((cents - least) / (most - least)) * (bottom - 12)
  const last = steps.at(-1) ?? first
  const title = `${name} over time: ${dollars(last.availableCents)} available and ${dollars(last.heldCents)} held now`
  const line = (of: (step: Step) => number) => stepLine(steps, nowMs, { x, y, of })
  return html`<svg class="plot" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" preserveAspectRatio="none">
<path class="held" d="${line(({ availableCents, heldCents }) => availableCents + heldCents)}L${x(nowMs)} ${y(least)}L${left} ${y(least)}Z"/>
<path class="ground" d="${line(({ availableCents }) => availableCents)}L${x(nowMs)} ${y(least)}L${left} ${y(least)}Z"/>
<path class="area" d="${line(({ availableCents }) => availableCents)}L${x(nowMs)} ${y(least)}L${left} ${y(least)}Z"/>
<path class="line" d="${line(({ availableCents }) => availableCents)}" vector-effect="non-scaling-stroke"/>
<path class="axis" d="M${left} ${y(least)}H${width - left}" vector-effect="non-scaling-stroke"/>
</svg>
<p class="axis-words" aria-hidden="true"><span>${shortMomentOf(first.atMs)}</span><span>${lowest === most ? dollars(most) : `from ${dollars(lowest)} to ${dollars(most)}`}</span><span>now</span></p>`
}

interface Scales {
  x: (ms: number) => number
  y: (cents: number) => number
  of: (step: Step) => number
}

function stepLine(steps: readonly Step[], nowMs: number, { x, y, of }: Scales): string {
  const short = (value: number) => value.toFixed(1)
  const [first] = steps
  if (first === undefined) return ''
  const rest = steps.slice(1).map((step) => `H${short(x(step.atMs))}V${short(y(of(step)))}`)
  return `M${left} ${short(y(of(first)))}${rest.join('')}H${short(x(nowMs))}`
}

/** The same for who sees no picture. */
export function plotTable(steps: readonly Step[]): Html {
  return html`<details id="balances"><summary id="balances-shown">As a table</summary><div class="wide"><table class="stacked"><caption class="unseen">Balances over time</caption>
<thead><tr><th scope="col">From</th><th scope="col" class="number">Available</th><th scope="col" class="number">Held</th><th scope="col" class="number">Total</th></tr></thead>
<tbody>${steps.map(
    ({ atMs, availableCents, heldCents }) =>
      html`<tr><th scope="row"><time datetime="${timestamp(atMs)}">${shortMomentOf(atMs)}</time></th><td data-label="Available" class="number">${dollars(availableCents)}</td><td data-label="Held" class="number">${dollars(heldCents)}</td><td data-label="Total" class="number">${dollars(availableCents + heldCents)}</td></tr>`,
  )}</tbody></table></div></details>`
}
