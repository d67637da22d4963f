import { html } from 'hono/html'
import { timestamp } from '../../../../core/system.ts'
import type { Html } from '../../../../display/html.ts'
import { amountColumns, type Line, plot } from '../../../../display/plot.ts'
import { evenTimeScale } from '../../../../display/scales.ts'
import { table } from '../../../../display/table.ts'
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

const available: Line<Step> = { name: 'Available', pattern: 'solid', cents: (step) => step.availableCents }
const held: Line<Step> = { name: 'Held', pattern: 'dotted', cents: (step) => step.heldCents }
const total: Line<Step> = { name: 'Total', pattern: 'dashed', cents: (step) => step.availableCents + step.heldCents }

interface Plotted {
  id: string
  name: string
  steps: readonly Step[]
  /** Whether there are older entries. */
  isCut: boolean
}

/** Shows what a wallet has available and in total, with what is held between the two. */
export function balancePlot({ id, name, steps, isCut }: Plotted, nowMs: number): Html {
  const [first, last] = [steps[0], steps.at(-1)]
  if (first === undefined || last === undefined)
    return html`<p class="aside">${isCut ? 'Nothing moved lately.' : 'Nothing moved yet.'}</p>`
  const now = `${dollars(last.availableCents)} available and ${dollars(last.heldCents)} held now`
  const x = evenTimeScale(first.atMs, nowMs, [shortMomentOf(first.atMs), 'now'])
  return plot({ id, title: `${name} over time: ${now}`, points: steps, lines: [total, available], x })
}

/** The same for somebody who sees no picture. */
export function balanceTable(steps: readonly Step[]): Html {
  const from = (step: Step) => html`<time datetime="${timestamp(step.atMs)}">${shortMomentOf(step.atMs)}</time>`
  const columns = amountColumns([available, held, total])
  return html`<details id="balances"><summary id="balances-shown">As a table</summary>${table('Balances over time', [{ name: 'From', of: from }, ...columns], steps)}</details>`
}
