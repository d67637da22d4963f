import { html } from 'hono/html'
import type { Comparison } from '../results.ts'
import { scenarioAnchor } from './anchors.ts'
import { chanceOf, changed, changeLine, comparedWith, notCompared } from './comparison-words.ts'
import { type Html, line } from './shown.ts'

/** Shows what got better or worse than in earlier results, and whether that may be chance. */
export function comparisonSection(comparison: Comparison | undefined): Html | string {
  if (comparison === undefined) return ''
  const { passed, didRight, toldTruth } = comparison
  const shares = [
    ['Passed', passed],
    ['Did right', didRight],
    ['Told the truth', toldTruth],
  ] as const
  const rows = changed(comparison).map(
    ({ id, way, from, to, chance }) =>
      html`<tr><th scope="row"><a href="#${scenarioAnchor(id)}">${line(id)}</a></th><td class="${way === 'worse' ? 'bad' : 'good'}"><span class="state">${way === 'worse' ? '▼ Worse' : '▲ Better'}</span></td><td>${from}</td><td>${to}</td><td>${chanceOf(chance)}</td></tr>`,
  )
  const table =
    rows.length === 0
      ? ''
      : html`<div class="wide"><table class="numbers"><caption>Scenarios that changed <span class="aside">Trials that passed</span></caption>
<thead><tr><th scope="col">Scenario</th><th scope="col">Change</th><th scope="col">Before</th><th scope="col">Now</th><th scope="col">By chance?</th></tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section aria-labelledby="comparison"><h2 id="comparison">Compared with earlier results</h2>
<p class="aside">${line(comparedWith(comparison), 200)}</p>
<dl>${shares.map(([name, change]) => html`<div><dt>${name}</dt><dd>${changeLine(change)}</dd></div>`)}</dl>
${table}
<ul class="aside">${notCompared(comparison).map((told) => html`<li>${line(told, 1000)}</li>`)}</ul>
</section>`
}
