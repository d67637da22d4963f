import { html } from 'hono/html'
import type { Html } from '../../display/html.ts'
import type { ScenarioResults, Trial, Verdict } from '../results.ts'
import { isJudged } from '../trial-record.ts'
import { trialAnchor } from './anchors.ts'
import { effectList, stepLink } from './effects.ts'
import { block, foldedText, line } from './foreign-texts.ts'
import { moneyPlot } from './money-plot.ts'
import { timeline } from './timeline.ts'
import { countWithNoun, endedEarly, outcomeOf, outcomes, reasons, usageWords, wordingNames } from './words.ts'

const truths = { yes: ['good', '✓ Yes'], no: ['bad', '✗ No'], unclear: ['open', '? Unclear'] } as const

/**
 * Renders a trial with everything that a person needs to understand its outcome. The anchor is inside the collapsed
 * element, because a browser expands the element when somebody follows a link to something inside it.
 */
export function trialSection({ id, task }: ScenarioResults['scenario'], trial: Trial): Html {
  const anchor = trialAnchor(id, trial)
  const { number, asked, answer, verdicts, calls, doubleCharges, usage } = trial
  const outcome = outcomeOf(trial)
  const twice = doubleCharges === 0 ? '' : `, ${countWithNoun(doubleCharges, 'charge')} too many`
  const answerBlock = answer === '' ? html`<p class="aside">No answer.</p>` : block(answer, 'Answer')
  return html`<details class="trial box ${outcome}">
<summary class="${outcomes[outcome].tone}"><span class="state">${outcomes[outcome].name}</span> <span>Trial ${number}</span> <span class="aside">${asked?.wording === undefined ? '' : html`Attack ${wordingNames[asked.wording]}. `}${reason(trial)}${countWithNoun(calls, 'call')}${twice}${usage === undefined ? '' : `, ${usageWords(usage)}`}</span></summary>
<div class="inside" id="${anchor}">
<div class="tiles"><section><h4>Task</h4>${block(asked?.task ?? task, 'Task')}</section>
<section><h4>Final answer</h4>${answerBlock}</section></div>
<section><h4>Verdicts</h4>${judgments(trial)}<ul class="list">${verdicts.map((verdict) => verdictItem(id, trial, verdict))}${ending(trial)}</ul>
${opinionView(trial)}${effectList(id, trial)}</section>
<section>${moneyPlot(id, trial)}</section>
<section><h4>Timeline</h4>${timeline(id, trial)}</section>
${stateOf(trial)}
<p><a class="aside" href="#${anchor}">Link to this trial</a></p>
</div>
</details>
`
}

/** Renders whether the agent did right and whether it told the truth. */
function judgments(trial: Trial): Html | string {
  if (!isJudged(trial)) return ''
  const { didRight, toldTruth } = trial
  const [truthClass, truth] = truths[toldTruth]
  return html`<dl class="figures"><div class="${didRight ? 'good' : 'bad'}"><dt>Did right</dt><dd class="state">${didRight ? '✓ Yes' : '✗ No'}</dd></div>
<div class="${truthClass}"><dt>Told the truth</dt><dd class="state">${truth}</dd></div></dl>`
}

/** Renders the first reason why a trial did not pass, for the summary of the trial. */
function reason(trial: Trial): Html | string {
  const [first] = reasons(trial)
  return first === undefined ? '' : html`${line(first, 160)} `
}

/** Renders a verdict. Verdicts that do not count against the trial are labeled as passed, or as harmless clutter. */
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

/** Renders the grader's second opinion on the answer, which does not affect the verdicts. */
function opinionView({ grader }: Trial): Html | string {
  if (grader === undefined) return ''
  if ('trouble' in grader) return html`<p class="aside">The grader gave no opinion: ${line(grader.trouble, 200)}</p>`
  const claims = grader.claims.filter(({ founded }) => !founded).map(({ text }) => text)
  const doubts = claims.length === 0 ? '' : html` It doubts: ${line(claims.join('; '), 300)}`
  return html`<p class="aside">The grader ${grader.agrees ? 'agrees' : 'disagrees'} about the answer.${doubts}</p>`
}

function ending(trial: Trial): Html | string {
  const endedBy = endedEarly(trial)
  if (endedBy === undefined) return ''
  const { tone, name } = isJudged(trial) ? outcomes.failed : outcomes.unjudged
  return html`<li class="${tone}"><span class="state">${name}</span> ${line(endedBy, 300)}</li>`
}

/** Renders the final state without the answer, because the answer has its own section. */
function stateOf({ state: { answer: _, ...state } }: Trial): Html {
  return foldedText(JSON.stringify(state, null, 1), 'The final state, on which the verdicts are based')
}
