import { html } from 'hono/html'
import type { Html } from '../../display/html.ts'
import { type Column, table } from '../../display/table.ts'
import type { Comparison } from '../results.ts'
import { scenarioAnchor } from './anchors.ts'
import {
  type ChangedScenario,
  chanceOf,
  changedScenarios,
  changeLine,
  comparedWith,
  notCompared,
} from './comparison-words.ts'
import { line } from './foreign-texts.ts'

/** Renders the differences from earlier results, and states whether they may be due to chance. */
export function comparisonSection(comparison: Comparison | undefined): Html | string {
  if (comparison === undefined) return ''
  const { passed, didRight, toldTruth } = comparison
  const shares = [
    ['Passed', passed],
    ['Did right', didRight],
    ['Told the truth', toldTruth],
  ] as const
  const rows = changedScenarios(comparison)
  const caption = html`Scenarios that changed <span class="aside">The number of trials that passed, before and now</span>`
  return html`<section aria-labelledby="comparison"><h2 id="comparison">Compared with earlier results</h2>
<p class="aside">${line(comparedWith(comparison), 200)}</p>
<dl>${shares.map(([name, change]) => html`<div><dt>${name}</dt><dd>${changeLine(change)}</dd></div>`)}</dl>
${rows.length === 0 ? '' : table(caption, columns, rows)}
<ul class="aside">${notCompared(comparison).map((text) => html`<li>${line(text, 1000)}</li>`)}</ul>
</section>`
}

const columns: readonly [Column<ChangedScenario>, ...Column<ChangedScenario>[]] = [
  { name: 'Scenario', cell: ({ id }) => html`<a href="#${scenarioAnchor(id)}">${line(id)}</a>` },
  {
    name: 'Change',
    cell: ({ way }) =>
      way === 'worse' ? html`<span class="state bad">▼ Worse</span>` : html`<span class="state good">▲ Better</span>`,
  },
  { name: 'Before', isNumber: true, cell: ({ from }) => from },
  { name: 'Now', isNumber: true, cell: ({ to }) => to },
  { name: 'Due to chance?', cell: ({ chance }) => chanceOf(chance) },
]
