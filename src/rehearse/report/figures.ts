import { html } from 'hono/html'
import type { Html } from '../../display/html.ts'
import { type Column, table } from '../../display/table.ts'
import type { Results, Share, Summary, TrivialResults } from '../results.ts'
import { scenarioAnchor } from './anchors.ts'
import { line } from './foreign-texts.ts'
import { countWithNoun, interval, passKRows, percent, providerFailed, usageWords, wordingNames } from './words.ts'

/** Renders the verdict on the agent in one sentence, and the confidence interval of the agent's pass rate. */
export function verdictBanner({ scenarios, summary }: Results): Html {
  const { passed, attackSuccess, doubleCharges, unclear, notJudged } = summary
  if (passed.of === 0) return html`<p class="verdict">${providerFailed(notJudged) || 'No trials were run.'}</p>`
  const isGood = passed.passed === passed.of
  const failed = passed.of - passed.passed
  const grave = [
    attackSuccess.passed === 0
      ? ''
      : `an attack succeeded in ${attackSuccess.passed} of ${countWithNoun(attackSuccess.of, 'trial')} under attack`,
    doubleCharges === 0 ? '' : `there were ${countWithNoun(doubleCharges, 'charge')} too many`,
    unclear === 0 ? '' : `in ${countWithNoun(unclear, 'trial')} it is unclear whether the answer is true`,
  ].filter((words) => words !== '')
  const sentence = isGood
    ? `Passed: in ${passed.of === 1 ? 'the one trial' : `all ${countWithNoun(passed.of, 'trial')}`} of ${countWithNoun(scenarios.length, 'scenario')} the agent did what was asked and nothing else, and told the truth.`
    : `Failed: ${failed.toLocaleString('en-US')} of ${countWithNoun(passed.of, 'trial')} did not pass${grave.length === 0 ? '' : `; ${grave.join(', and ')}`}.`
  return html`<p class="verdict ${isGood ? 'good' : 'bad'}"><span class="state" aria-hidden="true">${isGood ? '✓' : '✗'}</span> <strong>${sentence}</strong></p>
<p class="aside">${intervalText(passed)} ${providerFailed(notJudged)}</p>`
}

/** Describes the confidence interval of the pass rate. */
function intervalText(passed: Share): string {
  return `The 95 % confidence interval of the pass rate is ${interval(passed)}. More trials narrow it.`
}

/** Renders the figures. Each share is shown with its confidence interval. */
export function figures(
  {
    passed,
    didRight,
    toldTruth,
    unclear,
    passK,
    utility,
    utilityUnderAttack,
    attackSuccess,
    wordings = [],
    doubleCharges,
    clutter,
    calls,
    grader,
    usage,
  }: Summary,
  trivial: readonly TrivialResults[],
): Html {
  return html`<section aria-labelledby="figures"><h2 id="figures">Figures</h2>
<dl class="tiles figures">
${shareFigure('Passed', 'Trials in which the agent did right and told the truth', passed)}
${shareFigure('Did right', 'Trials in which the agent did what was asked, and nothing forbidden or unrequested', didRight)}
${shareFigure('Told the truth', `Trials whose answer is true${unclear === 0 ? '' : `; ${countWithNoun(unclear, 'answer is', 'answers are')} unclear`}`, toldTruth)}
${shareFigure('Utility', 'Trials without an attack in which the agent did what was asked', utility)}
${shareFigure('Utility under attack', 'Trials under attack in which the agent still did what was asked', utilityUnderAttack)}
${shareFigure('Attack success', 'Trials under attack in which the attacker succeeded or got a secret', attackSuccess)}
${wordings.map(({ wording, succeeded, of }) => html`<div class="box"><dt>Attacks ${wordingNames[wording]} <span class="aside">How many succeeded</span></dt><dd><strong>${succeeded.toLocaleString('en-US')} of ${of.toLocaleString('en-US')}</strong></dd></div>`)}
${countFigure('Double charges', 'Purchases and payments beyond the requested ones', doubleCharges)}
${countFigure('Clutter', 'Harmless unrequested effects, such as an abandoned cart', clutter)}
${grader === undefined ? '' : html`<div class="box"><dt>Grader agrees <span class="aside">A second opinion on the answers; it does not affect the verdicts</span></dt><dd><strong>${grader.agreed.toLocaleString('en-US')} of ${grader.of.toLocaleString('en-US')}</strong></dd></div>`}${countFigure('Calls', 'Tool calls and API requests in all trials', calls)}${usage === undefined ? '' : html`<div class="box"><dt>Model <span class="aside">Tokens and cost of all trials</span></dt><dd>${usageWords(usage)}</dd></div>`}
</dl>
${passKTable(passK)}
${trivialTable(trivial)}
</section>`
}

/** Renders a table of the results of trivial agents, which do nothing or say nothing. */
function trivialTable(trivial: readonly TrivialResults[]): Html | string {
  if (trivial.length === 0) return ''
  const share = (name: string, select: (results: TrivialResults) => Share): Column<TrivialResults> => ({
    name,
    isNumber: true,
    cell: (results) =>
      `${select(results).passed.toLocaleString('en-US')} of ${select(results).of.toLocaleString('en-US')}`,
  })
  const caption = html`For comparison, an agent that … <span class="aside">Each of these agents ran once in each scenario. If one of them reaches the same rate as your agent, that rate says nothing about your agent.</span>`
  const agents: Column<TrivialResults> = {
    name: 'Agent',
    cell: ({ agent, passes }) =>
      html`${agent}${passes.length === 0 ? '' : html` <span class="aside">passes ${passLinks(passes)}</span>`}`,
  }
  const shares = [
    share('Passed', ({ passed }) => passed),
    share('Did right', ({ didRight }) => didRight),
    share('Told the truth', ({ toldTruth }) => toldTruth),
  ]
  return table(caption, [agents, ...shares], trivial)
}

/** Renders links to the scenarios that a trivial agent passes. */
function passLinks(ids: readonly string[]): Html[] {
  const links = ids.slice(0, maxPasses).map((id) => html`<a href="#${scenarioAnchor(id)}">${line(id)}</a> `)
  const more = ids.length - links.length
  return more === 0 ? links : [...links, html`and ${more.toLocaleString('en-US')} more`]
}

const maxPasses = 12

function shareFigure(name: string, meaning: string, share: Share): Html {
  if (share.share === null) {
    return html`<div class="box"><dt>${name} <span class="aside">${meaning}</span></dt><dd><strong>–</strong> <span class="aside">No such trial</span></dd></div>`
  }
  return html`<div class="box"><dt>${name} <span class="aside">${meaning}</span></dt><dd><strong>${percent(share.share)}</strong> <span>${share.passed.toLocaleString('en-US')} of ${share.of.toLocaleString('en-US')}</span>${intervalPicture(share)}<span class="aside">95 %: ${interval(share)}</span></dd></div>`
}

function countFigure(name: string, meaning: string, count: number): Html {
  return html`<div class="box"><dt>${name} <span class="aside">${meaning}</span></dt><dd><strong>${count.toLocaleString('en-US')}</strong></dd></div>`
}

/**
 * Draws a share and its confidence interval on a scale from 0 to 100 %. Screen readers skip the picture, because the
 * text next to it has the same numbers.
 */
function intervalPicture({ low, high, share }: Share): Html {
  const xOf = (value: number | null) => `${((value ?? 0) * 96 + 2).toFixed(1)}%`
  const width = `${(((high ?? 0) - (low ?? 0)) * 96).toFixed(1)}%`
  return html`<svg class="interval" width="100%" height="14" aria-hidden="true"><line class="track" x1="2%" x2="98%" y1="7" y2="7"/><rect x="${xOf(low)}" width="${width}" y="4" height="6" rx="3"/><circle cx="${xOf(share)}" cy="7" r="5"/></svg>`
}

/**
 * Renders a table of pass^k, the probability that k trials of one scenario all pass. This probability matters for
 * repeated use.
 */
function passKTable(passK: readonly number[]): Html | string {
  const rows = passKRows(passK)
  if (rows.length < 2) return ''
  const columns = rows.map(([k, share]) => ({ name: String(k), isNumber: true, cell: () => percent(share) }))
  const caption = html`pass^k <span class="aside">The probability that k trials of one scenario all pass</span>`
  return table(caption, [{ name: 'k', cell: () => 'pass^k' }, ...columns], [passK])
}
