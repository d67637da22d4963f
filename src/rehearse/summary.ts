import { foreignName } from '../core/foreign-text.ts'
import { chanceOf, changedScenarios, changeLine, comparedWith, notCompared } from './report/comparison-words.ts'
import {
  countWithNoun,
  howToAllow,
  interval,
  notJudged,
  passedOf,
  percent,
  providerFailed,
  reasons,
  rightOf,
  truthOf,
  usageWords,
  wordingNames,
} from './report/words.ts'
import { withoutSecrets } from './report-text.ts'
import type { Comparison, Results, ScenarioResults, Share, TrivialResults } from './results.ts'

/** Writes the results in Markdown for CI systems: the figures, and the scenarios with trials that did not pass. */
export function summaryMarkdown(results: Results): string {
  const { agent, seed, trials, scenarios, summary, trivial = [], comparison } = results
  const { passed } = summary
  const scope = `${countWithNoun(scenarios.length, 'scenario')}, ${countWithNoun(trials, 'trial')} of each, seed ${escapeText(seed)}.`
  return [
    `## Rehearsal of ${escapeText(agent)}: ${passed.passed} of ${countWithNoun(passed.of, 'trial')} passed`,
    scope,
    figures(results, trivial),
    counts(results),
    comparison === undefined ? '' : comparisonPart(comparison),
    failedScenarios(scenarios),
    ...[howToAllow(scenarios), notJudged(scenarios), providerFailed(summary.notJudged)].map((line) => escapeText(line)),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')
}

/**
 * Returns a table with a row for the rehearsed agent and a row for each trivial agent. The columns show how often each
 * agent passed, did right and told the truth.
 */
function figures({ summary }: Results, trivial: readonly TrivialResults[]): string {
  const row = (name: string, shares: readonly string[]) => `| ${[name, ...shares].join(' | ')} |`
  const { passed, didRight, toldTruth } = summary
  return [
    row('', ['Passed', 'Did right', 'Told the truth']),
    row('---', ['---', '---', '---']),
    row('**The agent**', [passed, didRight, toldTruth].map(shareText)),
    ...trivial.map((one) =>
      row(`An agent that ${one.agent}`, [one.passed, one.didRight, one.toldTruth].map(shareCounts)),
    ),
  ].join('\n')
}

const shareCounts = ({ passed, of }: Share) => `${passed} of ${of}`

function shareText(share: Share): string {
  if (share.share === null) return 'nothing to measure'
  return `${shareCounts(share)}, ${percent(share.share)} (95 %: ${interval(share)})`
}

function counts({ summary }: Results): string {
  const { attackSuccess, doubleCharges, unclear, clutter, calls, grader, usage } = summary
  return [
    `- Attacks that succeeded: ${shareCounts(attackSuccess)}`,
    ...(summary.wordings ?? []).map(
      ({ wording, succeeded, of }) => `- … ${wordingNames[wording]}: ${succeeded} of ${of}`,
    ),
    `- Double charges: ${doubleCharges}`,
    `- Unclear answers: ${unclear}`,
    `- Clutter, such as abandoned carts: ${clutter}`,
    `- Calls: ${calls}`,
    ...(usage === undefined ? [] : [`- Model: ${escapeText(usageWords(usage))}`]),
    ...(grader === undefined
      ? []
      : [`- Answers on which the grader agrees with the built-in judgment: ${grader.agreed} of ${grader.of}`]),
  ].join('\n')
}

function comparisonPart(comparison: Comparison): string {
  const { passed, didRight, toldTruth } = comparison
  const scenarios = changedScenarios(comparison)
    .slice(0, maxRows)
    .map(
      ({ id, way, from, to, chance }) =>
        `| ${way} | ${escapeText(id)} | ${from} | ${to} | ${escapeText(chanceOf(chance))} |`,
    )
  const table = ['| | Scenario | Before | Now | |', '| --- | --- | --- | --- | --- |', ...scenarios].join('\n')
  return [
    `### Compared with ${escapeText(comparedWith(comparison))}`,
    [
      `- Passed: ${escapeText(changeLine(passed))}`,
      `- Did right: ${escapeText(changeLine(didRight))}`,
      `- Told the truth: ${escapeText(changeLine(toldTruth))}`,
      ...notCompared(comparison).map((line) => `- ${escapeText(line)}`),
    ].join('\n'),
    ...(scenarios.length === 0 ? [] : [table]),
  ].join('\n\n')
}

/** The maximum number of rows in a table. GitHub limits a job summary to 1 MiB. */
const maxRows = 100

function failedScenarios(scenarios: readonly ScenarioResults[]): string {
  const failed = scenarios.filter(({ trials }) => trials.some(({ passed }) => !passed))
  if (failed.length === 0) return ''
  const rows = failed.slice(0, maxRows).map(({ scenario, trials }) => {
    const first = trials.find(({ passed }) => !passed)
    const why = first === undefined ? [] : reasons(first).slice(0, maxReasons)
    const cells = [escapeText(scenario.id), passedOf(trials), rightOf(trials), truthOf(trials)]
    return `| ${[...cells, why.map((line) => escapeText(line)).join('<br>')].join(' | ')} |`
  })
  const more = failed.length - rows.length
  return [
    '### Scenarios with trials that did not pass',
    [
      '| Scenario | Passed | Did right | Told the truth | Reasons for the first failure |',
      '| --- | --- | --- | --- | --- |',
      ...rows,
    ].join('\n'),
    ...(more === 0 ? [] : [`And ${more} more: report.html shows all of them.`]),
  ].join('\n\n')
}

const maxReasons = 3
const maxTextLength = 300

/**
 * Makes untrusted text safe for one line of Markdown: masks secrets, shortens the text, and escapes characters that
 * could become markup, a formula or a link.
 */
function escapeText(foreign: string): string {
  return foreignName(withoutSecrets(foreign), '', maxTextLength).replace(/[\\`*_[\]<>#|~&@$]|:(?=\/\/)/g, '\\$&')
}
