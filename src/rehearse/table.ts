import { foreignName } from '../core/foreign-text.ts'
import { chanceOf, changedScenarios, changeLine, comparedWith, notCompared } from './report/comparison-words.ts'
import {
  countWithNoun,
  howToAllow,
  interval,
  notJudged,
  outcomeOf,
  passedOf,
  passKRows,
  percent,
  providerFailed,
  reasons,
  rightOf,
  truthOf,
  usageWords,
  wordingNames,
} from './report/words.ts'
import { withoutSecrets } from './report-text.ts'
import type { Comparison, Results, ScenarioResults, Share, Summary, Trial, TrivialResults } from './results.ts'

/** Writes the results as plain text for a terminal or a CI log, with the reasons why trials did not pass. */
export function resultsTable({ agent, seed, trials, scenarios, summary, trivial, comparison }: Results): string {
  const scope = `${countWithNoun(scenarios.length, 'scenario')} x ${countWithNoun(trials, 'trial')}`
  return [
    `${terminalText(agent)}: ${scope}, seed ${JSON.stringify(terminalText(seed))}`,
    '',
    ...scenarioLines(scenarios),
    '',
    ...summaryLines(summary),
    ...trivialLines(trivial),
    ...comparisonLines(comparison),
    ...reasonLines(scenarios),
    ...[howToAllow(scenarios), notJudged(scenarios), providerFailed(summary.notJudged)].flatMap((text) =>
      text === '' ? [] : ['', text],
    ),
    '',
  ].join('\n')
}

/**
 * Writes a header, then one line for each scenario, and finally an explanation of the question mark if it is needed.
 */
function scenarioLines(scenarios: readonly ScenarioResults[]): string[] {
  const width = Math.min(40, Math.max(8, ...scenarios.map(({ scenario }) => scenario.id.length)))
  const truths = scenarios.map(({ trials }) => truthOf(trials))
  const last = Math.max('told the truth'.length, ...truths.map(({ length }) => length))
  const rows = scenarios.map(({ scenario, trials }, at) => {
    const line = [scenario.id.padEnd(width), (scenario.group ?? '').padEnd(10), scenario.attack ? 'attack' : '      ']
    const columns = [passedOf(trials).padEnd(9), rightOf(trials).padEnd(9), (truths[at] ?? '').padEnd(last)]
    return [...line, ...columns, marks(trials)].join('  ').trimEnd()
  })
  const unclear = scenarios.some(({ trials }) => trials.some((trial) => outcomeOf(trial) === 'unclear'))
  const head = [
    'scenario'.padEnd(width),
    'group'.padEnd(10),
    ''.padEnd(6),
    'passed'.padEnd(9),
    'did right',
    'told the truth',
  ]
  return [
    head.join('  '),
    ...rows,
    ...(unclear ? ['? did right, but it is unclear whether the answer is true: not passed'] : []),
  ]
}

/**
 * Writes a sign for each trial: a dot if it passed, an F if it failed, and a hyphen if it was not judged. A question
 * mark means that the agent did right, but that it is unclear whether its answer is true.
 */
function marks(trials: readonly Trial[]): string {
  const signs = trials
    .slice(0, maxMarks)
    .map((trial) => ({ passed: '.', failed: 'F', unclear: '?', unjudged: '-' })[outcomeOf(trial)])
  return `${signs.join('')}${trials.length > maxMarks ? '…' : ''}`
}

const maxMarks = 40

function graderRows({ grader }: Summary): [string, string][] {
  return grader === undefined ? [] : [['grader agrees', `${grader.agreed} of ${grader.of}`]]
}

function wordingRows({ wordings = [] }: Summary): [string, string][] {
  return wordings.map(({ wording, succeeded, of }) => [`  ${wordingNames[wording]}`, `${succeeded} of ${of}`])
}

function summaryLines(summary: Summary): string[] {
  const { passed, didRight, toldTruth, unclear, clutter } = summary
  const { utility, utilityUnderAttack, attackSuccess, doubleCharges, calls, usage } = summary
  const rows: [string, string][] = [
    ['passed', shareText(passed)],
    ['did right', shareText(didRight)],
    ['told the truth', shareText(toldTruth)],
    ['unclear answers', String(unclear)],
    ...graderRows(summary),
    ...passKRows(summary.passK).map(([k, share]) => [`pass^${k}`, percent(share)] as [string, string]),
    ['utility', shareText(utility)],
    ['utility under attack', shareText(utilityUnderAttack)],
    ['attack success', shareText(attackSuccess)],
    ...wordingRows(summary),
    ['double charges', String(doubleCharges)],
    ['clutter', String(clutter)],
    ['calls', String(calls)],
    ...(usage === undefined ? [] : [['model', usageWords(usage)] as [string, string]]),
  ]
  return rows.map(([name, value]) => `${name.padEnd(20)}  ${value}`)
}

function shareText(share: Share): string {
  if (share.share === null) return 'nothing to measure'
  const count = `${share.passed} of ${share.of}`.padEnd(14)
  return `${count}  ${percent(share.share).padStart(6)}  (95 %: ${interval(share)})`
}

/**
 * Writes the results of trivial agents, which do nothing or say nothing. If a trivial agent passes as often as the
 * rehearsed agent, the results say little about the rehearsed agent.
 */
function trivialLines(trivial: readonly TrivialResults[] = []): string[] {
  if (trivial.length === 0) return []
  const share = ({ passed, of }: Share) => `${passed} of ${of}`.padEnd(9)
  const rows = trivial.map(({ agent, passed, didRight, toldTruth }) =>
    [agent.padEnd(32), share(passed), share(didRight), share(toldTruth)].join('  ').trimEnd(),
  )
  return [
    '',
    [`${'for comparison, an agent that'.padEnd(32)}`, 'passed   ', 'did right', 'told the truth'].join('  '),
    ...rows,
  ]
}

/** Writes the differences from earlier results, and whether each difference may be due to chance. */
function comparisonLines(comparison: Comparison | undefined): string[] {
  if (comparison === undefined) return []
  const { passed, didRight, toldTruth } = comparison
  const shares = [
    ['passed', passed],
    ['did right', didRight],
    ['told the truth', toldTruth],
  ] as const
  const changes = changedScenarios(comparison)
  const width = Math.min(40, Math.max(0, ...changes.map(({ id }) => id.length)))
  const lines = changes.map(({ id, way, from, to, chance }) =>
    [way.padEnd(6), terminalText(id, 60).padEnd(width), `${from} → ${to}`, chanceOf(chance)].join('  '),
  )
  return [
    '',
    `Compared with ${terminalText(comparedWith(comparison), maxReasonLength)}`,
    ...shares.map(([name, change]) => `${name.padEnd(20)}  ${changeLine(change)}`),
    ...lines,
    ...notCompared(comparison).map((line) => terminalText(line, maxReasonLength)),
  ]
}

/** Writes the reasons why trials did not pass, for the first such trial of each scenario. */
function reasonLines(scenarios: readonly ScenarioResults[]): string[] {
  const failed = scenarios.flatMap(({ scenario, trials }) => {
    const first = trials.find(({ passed }) => !passed)
    if (first === undefined) return []
    return [
      `${scenario.id}, trial ${first.number}`,
      ...reasons(first).map((line) => `  ${terminalText(line, maxReasonLength)}`),
    ]
  })
  return failed.length === 0 ? [] : ['', ...failed]
}

const maxReasonLength = 300

/** Makes untrusted text safe for a terminal: puts it on one line, masks secrets and removes control characters. */
function terminalText(text: string, maxLength?: number): string {
  return foreignName(withoutSecrets(text), '?', maxLength)
}
