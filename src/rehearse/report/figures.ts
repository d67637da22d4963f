import { html } from 'hono/html'
import type { Results, Share, Summary } from '../results.ts'
import type { Html } from './shown.ts'
import { counted, interval, passKRows, percent } from './words.ts'

/** What the rehearsal says of the agent, in a sentence, and how far one may trust it. */
export function verdictBanner({ scenarios, summary }: Results): Html {
  const { passed, attackSuccess, doubleCharges } = summary
  if (passed.of === 0) return html`<p class="verdict">Nothing was rehearsed.</p>`
  const isGood = passed.passed === passed.of
  const failed = passed.of - passed.passed
  const grave = [
    attackSuccess.passed === 0
      ? ''
      : `an attack succeeded in ${attackSuccess.passed} of ${counted(attackSuccess.of, 'trial')} under attack`,
    doubleCharges === 0 ? '' : `${counted(doubleCharges, 'charge')} went beyond what was asked for`,
  ].filter((words) => words !== '')
  const sentence = isGood
    ? `Passed: in ${passed.of === 1 ? 'the one trial' : `all ${counted(passed.of, 'trial')}`} of ${counted(scenarios.length, 'scenario')} the agent did what was asked, and nothing that must never happen.`
    : `Failed: ${failed.toLocaleString('en-US')} of ${counted(passed.of, 'trial')} did not pass${grave.length === 0 ? '' : `; ${grave.join(', and ')}`}.`
  return html`<p class="verdict ${isGood ? 'good' : 'bad'}"><span class="sign" aria-hidden="true">${isGood ? '✓' : '✗'}</span> <strong>${sentence}</strong></p>
<p class="aside">${trust(passed)}</p>`
}

/** What a share of few trials does not tell. */
function trust(passed: Share): string {
  const bounds = interval(passed).replace(' to ', ' and ')
  return `The true share of passes lies between ${bounds}, at a confidence of 95 %. More trials narrow that.`
}

/** The figures, each with its interval. */
export function figures({
  passed,
  passK,
  utility,
  utilityUnderAttack,
  attackSuccess,
  doubleCharges,
  calls,
}: Summary): Html {
  return html`<section aria-labelledby="figures"><h2 id="figures">Figures</h2>
<dl class="figures">
${shareFigure('Passed', 'Trials in which all was as expected, and nothing happened that never must', passed)}
${shareFigure('Utility', 'Trials without an attack that did what was asked', utility)}
${shareFigure('Utility under attack', 'Trials under attack that did what was asked all the same', utilityUnderAttack)}
${shareFigure('Attack success', 'Trials under attack in which it got what it wanted, or was told a secret', attackSuccess)}
${countFigure('Double charges', 'Purchases and payments beyond those that were asked for', doubleCharges)}
${countFigure('Calls', 'Of tools and of the API, in all trials', calls)}
</dl>
${passKTable(passK)}
</section>`
}

function shareFigure(name: string, meaning: string, share: Share): Html {
  if (share.share === null) {
    return html`<div><dt>${name} <span class="aside">${meaning}</span></dt><dd><strong>–</strong> <span class="aside">No such trial</span></dd></div>`
  }
  return html`<div><dt>${name} <span class="aside">${meaning}</span></dt><dd><strong>${percent(share.share)}</strong> <span>${share.passed.toLocaleString('en-US')} of ${share.of.toLocaleString('en-US')}</span>${intervalPicture(share)}<span class="aside">95 %: ${interval(share)}</span></dd></div>`
}

function countFigure(name: string, meaning: string, count: number): Html {
  return html`<div><dt>${name} <span class="aside">${meaning}</span></dt><dd><strong>${count.toLocaleString('en-US')}</strong></dd></div>`
}

/** The interval from 0 to 100 %, and the share on it. The words beside it say the same. */
function intervalPicture({ low, high, share }: Share): Html {
  const at = (value: number | null) => `${((value ?? 0) * 96 + 2).toFixed(1)}%`
  const width = `${(((high ?? 0) - (low ?? 0)) * 96).toFixed(1)}%`
  return html`<svg class="interval" width="100%" height="14" aria-hidden="true"><line class="track" x1="2%" x2="98%" y1="7" y2="7"/><rect x="${at(low)}" width="${width}" y="4" height="6" rx="3"/><circle cx="${at(share)}" cy="7" r="5"/></svg>`
}

/** How likely several trials in a row all pass: what somebody meets who uses the agent again and again. */
function passKTable(passK: readonly number[]): Html | string {
  const rows = passKRows(passK)
  if (rows.length < 2) return ''
  return html`<div class="wide"><table class="numbers"><caption>pass^k <span class="aside">How likely k trials of one scenario all pass</span></caption>
<thead><tr><th scope="row">k</th>${rows.map(([k]) => html`<th scope="col">${k}</th>`)}</tr></thead>
<tbody><tr><th scope="row">pass^k</th>${rows.map(([, share]) => html`<td>${percent(share)}</td>`)}</tr></tbody></table></div>`
}
