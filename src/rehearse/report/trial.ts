import { html } from 'hono/html'
import type { Html } from '../../display/html.ts'
import type { ScenarioResults, Trial, Verdict } from '../results.ts'
import { trialAnchor } from './anchors.ts'
import { effectList, stepLink } from './effects.ts'
import { moneyPlot } from './money-plot.ts'
import { block, folded, line } from './shown.ts'
import { timeline } from './timeline.ts'
import { brokenOff, counted, outcomeOf, outcomes, reasons } from './words.ts'

const truths = { yes: ['good', '✓ Yes'], no: ['bad', '✗ No'], unclear: ['open', '? Unclear'] } as const

/**
 * A trial with all that a person needs to see why it came out so. Its anchor lies within: a browser opens by itself what
 * encloses the place that an address names.
 */
export function trialSection({ id, task }: ScenarioResults['scenario'], trial: Trial): Html {
  const anchor = trialAnchor(id, trial)
  const { number, answer, verdicts, calls, doubleCharges } = trial
  const outcome = outcomeOf(trial)
  const twice = doubleCharges === 0 ? '' : `, ${counted(doubleCharges, 'charge')} too many`
  const said = answer === '' ? html`<p class="aside">It said nothing.</p>` : block(answer, 'Answer')
  return html`<details class="trial box ${outcome}">
<summary class="${outcomes[outcome].tone}"><span class="state">${outcomes[outcome].name}</span> <span>Trial ${number}</span> <span class="aside">${reason(trial)}${counted(calls, 'call')}${twice}</span></summary>
<div class="inside" id="${anchor}">
<div class="tiles"><section><h4>Task</h4>${block(task, 'Task')}</section>
<section><h4>Final answer</h4>${said}</section></div>
<section><h4>Verdicts</h4>${columns(trial)}<ul class="list">${verdicts.map((verdict) => verdictItem(id, trial, verdict))}${ending(trial)}</ul>
${opinion(trial)}${effectList(id, trial)}</section>
<section>${moneyPlot(id, trial)}</section>
<section><h4>Timeline</h4>${timeline(id, trial)}</section>
${stateOf(trial)}
<p><a class="aside" href="#${anchor}">Link to this trial</a></p>
</div>
</details>
`
}

/** The two columns of every table, for this trial. */
function columns({ didRight, toldTruth }: Trial): Html {
  const [truthClass, truth] = truths[toldTruth]
  return html`<dl class="figures"><div class="${didRight ? 'good' : 'bad'}"><dt>Did right</dt><dd class="state">${didRight ? '✓ Yes' : '✗ No'}</dd></div>
<div class="${truthClass}"><dt>Told the truth</dt><dd class="state">${truth}</dd></div></dl>`
}

/** The first reason of a failure, beside the trial's number. */
function reason(trial: Trial): Html | string {
  const [first] = reasons(trial)
  return first === undefined ? '' : html`${line(first, 160)} `
}

/** A verdict that does not count against the trial holds, or is of what was left behind and gives nothing away. */
function verdictItem(id: string, trial: Trial, { kind, failed, says, step }: Verdict): Html {
  const isUnclear = failed && kind === 'answer' && trial.toldTruth === 'unclear'
  const [className, state] = isUnclear
    ? ['open', outcomes.unclear.name]
    : failed
      ? ['bad', outcomes.failed.name]
      : kind === 'unasked'
        ? ['over', 'Clutter']
        : ['good', outcomes.passed.name]
  return html`<li class="${className}"><span class="state">${state}</span> ${line(says, 300)} ${stepLink(id, trial, step)}</li>`
}

/** The second opinion on the answer, which decides nothing. */
function opinion({ grader }: Trial): Html | string {
  if (grader === undefined) return ''
  if ('trouble' in grader) return html`<p class="aside">The grader gave no opinion: ${line(grader.trouble, 200)}</p>`
  const claims = grader.claims.filter(({ founded }) => !founded).map(({ text }) => text)
  const doubts = claims.length === 0 ? '' : html` It doubts: ${line(claims.join('; '), 300)}`
  return html`<p class="aside">The grader ${grader.agrees ? 'agrees' : 'disagrees'} about the answer.${doubts}</p>`
}

function ending(trial: Trial): Html | string {
  const broken = brokenOff(trial)
  return broken === undefined
    ? ''
    : html`<li class="bad"><span class="state">${outcomes.failed.name}</span> ${line(broken, 300)}</li>`
}

/** The answer is shown above, so it is not repeated. */
function stateOf({ state: { answer: _, ...state } }: Trial): Html {
  return folded(JSON.stringify(state, null, 1), 'The state that it was judged by')
}
