import { readFileSync } from 'node:fs'
import { html, raw } from 'hono/html'
import type { Html } from '../../display/html.ts'
import { standalonePage } from '../../display/standalone-page.ts'
import { baseStyle, partsStyle } from '../../display/style.ts'
import type { Results, ScenarioResults, Trial } from '../results.ts'
import { scenarioAnchor, trialAnchor } from './anchors.ts'
import { comparisonSection } from './comparison.ts'
import { byFamily, type Family } from './families.ts'
import { figures, verdictBanner } from './figures.ts'
import { line, lineText } from './foreign-texts.ts'
import { familyTable, scenarioTable } from './scenario-table.ts'
import { byInterest, renderWithinLimits } from './selection.ts'
import { trialSection } from './trial.ts'
import { countWithNoun, howToAllow, notJudged, passedOf } from './words.ts'

/**
 * Renders the results as one self-contained page that also works without JavaScript. Equal results produce identical
 * pages. Only `results.json` contains durations by the real clock, because they would make the pages of two runs
 * differ.
 */
export function reportHtml(results: Results): string {
  const { agent, seed, scenarios, summary, trivial = [], comparison } = results
  const rendered = renderWithinLimits(byInterest(scenarios), ({ scenario, trial }) =>
    String(trialSection(scenario, trial)),
  )
  const families = byFamily(scenarios)
  const failed = summary.passed.of - summary.passed.passed
  const main = html`<main class="full">
<header class="stack"><h1>Rehearsal of ${line(agent)}</h1>
${verdictBanner(results)}
<p class="aside">${countWithNoun(scenarios.length, 'scenario')}, ${countWithNoun(results.trials, 'trial')} of each, seed ${line(seed)}.</p>
${firstFailed(families, rendered)}</header>
${figures(summary, trivial)}
${comparisonSection(comparison)}
<section aria-labelledby="scenarios"><h2 id="scenarios">Scenarios</h2>
<fieldset class="show line"><legend>Show</legend>
<label><input type="radio" name="show" value="all" checked> All trials (${summary.passed.of.toLocaleString('en-US')})</label>
<label><input type="radio" name="show" value="failed" id="show-failed"> Only trials that did not pass (${failed.toLocaleString('en-US')})</label></fieldset>
${failed === 0 ? html`<p class="no-failed">All trials passed.</p>` : ''}
${filters(families)}
${familyTable(families)}
${scenarioTable(families, rendered)}</section>
<section aria-labelledby="trials"><h2 id="trials">Trials</h2>
${[howToAllow(scenarios), notJudged(scenarios)].map((text) => (text === '' ? '' : html`<p class="aside">${text}</p>`))}${notShownNote(scenarios, rendered)}
<p class="tools line" hidden><button type="button" class="quiet" data-open="failed">Open all trials that did not pass</button> <button type="button" class="quiet" data-open="none">Close all</button></p>
${families.flatMap((family) => family.scenarios.map((one) => scenarioSection(one, family.id, rendered)))}</section>
<footer class="aside">Made by <code>payments-mcp rehearse</code>. Times are on the sandbox clock, in UTC. Secrets are masked.</footer>
</main>`
  return standalonePage({
    title: `Rehearsal of ${lineText(agent)}`,
    style: `${baseStyle()}${partsStyle()}${readPageFile('report.css')}`,
    script: readPageFile('report.js'),
    body: String(main),
  })
}

/**
 * Renders the filters for scenarios. They need the page's script, so they are hidden until the script shows them.
 */
function filters(families: readonly Family[]): Html {
  const options = families.map(({ id, name }) => html`<option value="${id}">${name}</option>`)
  const choice = html`<label>Family <select><option value="">All</option>${options}</select></label>`
  return html`<p class="filters line" hidden>${families.length < 2 ? '' : choice} <label>Text in a scenario or its trials <input type="search" autocomplete="off"></label> <output class="aside"></output></p>`
}

function firstFailed(families: readonly Family[], rendered: ReadonlyMap<Trial, string>): Html | string {
  for (const { scenario, trials } of families.flatMap(({ scenarios }) => scenarios)) {
    const trial = trials.find((one) => !one.passed && rendered.has(one))
    if (trial !== undefined)
      return html`<p><a href="#${trialAnchor(scenario.id, trial)}">The first trial that did not pass</a></p>`
  }
  return ''
}

function scenarioSection(
  { scenario, trials }: ScenarioResults,
  family: string,
  rendered: ReadonlyMap<Trial, string>,
): Html {
  const { id, title, attack } = scenario
  const renderedTrials = trials.flatMap((trial) => rendered.get(trial) ?? [])
  const isPassed = trials.every(({ passed }) => passed)
  return html`<section class="scenario${isPassed ? ' passed-only' : ''}" data-family="${family}" aria-labelledby="${scenarioAnchor(id)}">
<h3 id="${scenarioAnchor(id)}">${line(title, 100)}${attack ? html` <span class="kind">Attack</span>` : ''}</h3>
<p class="aside"><code>${line(id)}</code> ${passedOf(trials)} passed${missingTrialsText(trials, rendered)}</p>
${raw(renderedTrials.join(''))}
</section>
`
}

function missingTrialsText(trials: readonly Trial[], rendered: ReadonlyMap<Trial, string>): string {
  const absent = trials.filter((trial) => !rendered.has(trial))
  const failed = absent.filter(({ passed }) => !passed).length
  const words = [[failed, 'that failed'] as const, [absent.length - failed, 'that passed'] as const]
    .filter(([count]) => count > 0)
    .map(([count, which]) => `${count.toLocaleString('en-US')} ${which}`)
  return words.length === 0 ? '' : `. Not shown here: ${words.join(' and ')}`
}

/** Renders a note if the page does not show all trials in full. */
function notShownNote(scenarios: readonly ScenarioResults[], rendered: ReadonlyMap<Trial, string>): Html | string {
  const all = scenarios.reduce((total, { trials }) => total + trials.length, 0)
  if (all === rendered.size) return ''
  return html`<p class="aside">This page shows ${rendered.size.toLocaleString('en-US')} of ${countWithNoun(all, 'trial')} in full: the failed ones and the first passed one of each scenario, up to a size limit. <code>results.json</code> has all of them.</p>`
}

/** Reads a file from the folder `page` next to this module. The build copies that folder. */
function readPageFile(name: 'report.css' | 'report.js'): string {
  return readFileSync(new URL(`./page/${name}`, import.meta.url), 'utf8')
}
