import { html } from 'hono/html'
import { timestamp } from '../../../../core/system.ts'
import type { Html } from '../../../../display/html.ts'
import { amountColumns, type Line, plot } from '../../../../display/plot.ts'
import { evenTimeScale } from '../../../../display/scales.ts'
import { table } from '../../../../display/table.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'

/** A ledger entry of a wallet. `account` is `available` or `held`. */
export interface WalletEntry {
  account: string
  amountCents: number
  createdAtMs: number
}

/** A step in a wallet's plot: the balances from `atMs` until the next step. */
export interface Step {
  atMs: number
  availableCents: number
  heldCents: number
}

/**
 * Returns the balances of a wallet over time, oldest first. The balances are computed backwards from the present ones,
 * because `entries` may lack the oldest entries. Entries with the same time form one step.
 * @param entries The wallet's ledger entries, newest first.
 * @param maxPoints The maximum number of steps to return. If there are more, only every nth step is returned, counted
 * back from the newest step.
 */
export function stepsOf(
  now: Pick<Step, 'availableCents' | 'heldCents'>,
  entries: readonly WalletEntry[],
  maxPoints = 200,
): Step[] {
  let { availableCents, heldCents } = now
  const steps: Step[] = []
  for (const { account, amountCents, createdAtMs: atMs } of entries) {
    if (steps.at(-1)?.atMs !== atMs) steps.push({ atMs, availableCents, heldCents })
    if (account === 'available') availableCents -= amountCents
    else heldCents -= amountCents
  }
  const every = Math.max(1, Math.ceil(steps.length / maxPoints))
  return steps.filter((_, at) => at % every === 0).reverse()
}

const available: Line<Step> = { name: 'Available', pattern: 'solid', cents: (step) => step.availableCents }
const held: Line<Step> = { name: 'Held', pattern: 'dotted', cents: (step) => step.heldCents }
const total: Line<Step> = { name: 'Total', pattern: 'dashed', cents: (step) => step.availableCents + step.heldCents }

interface Plotted {
  id: string
  name: string
  steps: readonly Step[]
  /** Whether the wallet may have older entries that `steps` does not cover. */
  isCut: boolean
}

/** Plots a wallet's available and total balances. The gap between the two lines is the held amount. */
export function balancePlot({ id, name, steps, isCut }: Plotted, nowMs: number): Html {
  const [first, last] = [steps[0], steps.at(-1)]
  if (first === undefined || last === undefined)
    return html`<p class="aside">${isCut ? 'No recent transactions.' : 'No transactions yet.'}</p>`
  const now = `${dollars(last.availableCents)} available and ${dollars(last.heldCents)} held now`
  const x = evenTimeScale(first.atMs, nowMs, [shortMomentOf(first.atMs), 'now'])
  return plot({ id, title: `${name} over time: ${now}`, points: steps, lines: [total, available], x })
}

/** Renders a wallet's available, held and total balances as a table, for people who cannot see the plot. */
export function balanceTable(steps: readonly Step[]): Html {
  const timeElement = (step: Step) => html`<time datetime="${timestamp(step.atMs)}">${shortMomentOf(step.atMs)}</time>`
  const columns = amountColumns([available, held, total])
  return html`<details id="balances"><summary id="balances-shown">Show as a table</summary>${table('Balances over time', [{ name: 'From', cell: timeElement }, ...columns], steps)}</details>`
}
