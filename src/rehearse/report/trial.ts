import { html } from 'hono/html'
import type { ScenarioResults, Trial, Verdict } from '../results.ts'
import { trialAnchor } from './anchors.ts'
import { moneyPlot } from './money-plot.ts'
import { block, folded, type Html, line } from './shown.ts'
import { timeline } from './timeline.ts'
import { brokenOff, counted, fallen } from './words.ts'

/**
 * A trial with all that a person needs to see why it came out so. Its anchor lies within: a browser opens by itself what
 * encloses the place that an address names.
 */
export function trialSection({ id, task }: ScenarioResults['scenario'], trial: Trial): Html {
  const anchor = trialAnchor(id, trial)
  const { passed, number, answer, verdicts, calls, doubleCharges } = trial
  const twice = doubleCharges === 0 ? '' : `, ${counted(doubleCharges, 'charge')} too many`
  const said = answer === '' ? html`<p class="aside">It said nothing.</p>` : block(answer, 'Answer')
  return html`<details class="trial ${passed ? 'passed' : 'failed'}">
<summary><span class="state">${passed ? '✓ Passed' : '✗ Failed'}</span> <span>Trial ${number}</span> <span class="aside">${reason(trial)}${counted(calls, 'call')}${twice}</span></summary>
<div class="inside" id="${anchor}">
<div class="texts"><section><h4>Task</h4>${block(task, 'Task')}</section>
<section><h4>Final answer</h4>${said}</section></div>
<section><h4>Verdicts</h4><ul class="verdicts">${verdicts.map(verdictItem)}${ending(trial)}</ul></section>
<section>${moneyPlot(id, trial)}</section>
<section><h4>Timeline</h4>${timeline(id, trial)}</section>
${stateOf(trial)}
<p><a class="aside" href="#${anchor}">Link to this trial</a></p>
</div>
</details>
`
}

/** The first reason of a failure, beside the trial's number. */
function reason(trial: Trial): Html | string {
  const first = brokenOff(trial) ?? fallen(trial)[0]?.says
  return first === undefined ? '' : html`${line(first, 160)} `
}

function verdictItem({ failed, says }: Verdict): Html {
  return html`<li class="${failed ? 'bad' : 'good'}"><span class="state">${failed ? '✗ Failed' : '✓ Passed'}</span> ${line(says, 300)}</li>`
}

function ending(trial: Trial): Html | string {
  const broken = brokenOff(trial)
  return broken === undefined ? '' : html`<li class="bad"><span class="state">✗ Failed</span> ${line(broken, 300)}</li>`
}

/** The answer stands above, and is not told twice. */
function stateOf({ state: { answer: _, ...state } }: Trial): Html {
  return folded(JSON.stringify(state, null, 1), 'The state that it was judged by')
}
