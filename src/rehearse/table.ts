import { foreignName } from '../core/foreign-text.ts'
import { brokenOff, counted, fallen, interval, passKRows, percent } from './report/words.ts'
import type { Results, ScenarioResults, Share, Summary, Trial } from './results.ts'
import { withoutSecrets } from './shown-text.ts'

/** The results for a terminal and for the log of a CI system: plain text, with the reasons of what failed. */
export function resultsTable({ agent, seed, trials, scenarios, summary }: Results): string {
  const scope = `${counted(scenarios.length, 'scenario')} x ${counted(trials, 'trial')}`
  return [
    `${named(agent)}: ${scope}, seed ${JSON.stringify(named(seed))}`,
    '',
    ...scenarioLines(scenarios),
    '',
    ...summaryLines(summary),
    ...reasonLines(scenarios),
    '',
  ].join('\n')
}

/** A line for each scenario, by group; a twin stands below its trap. */
function scenarioLines(scenarios: readonly ScenarioResults[]): string[] {
  const width = Math.min(40, Math.max(8, ...scenarios.map(({ scenario }) => scenario.id.length)))
  const rows = scenarios.map(({ scenario, trials }) => {
    const passed = trials.filter((trial) => trial.passed).length
    const line = [scenario.id.padEnd(width), (scenario.group ?? '').padEnd(10), scenario.attack ? 'attack' : '      ']
    return `${line.join('  ')}  ${String(passed).padStart(5)} of ${trials.length}  ${marks(trials)}`.trimEnd()
  })
  return [`${'scenario'.padEnd(width)}  ${'group'.padEnd(10)}  ${''.padEnd(6)}  passed`, ...rows]
}

/** A sign for each trial: a point where it passed, an F where it failed. */
function marks(trials: readonly Trial[]): string {
  const signs = trials.slice(0, mostMarks).map(({ passed }) => (passed ? '.' : 'F'))
  return `${signs.join('')}${trials.length > mostMarks ? '…' : ''}`
}

const mostMarks = 40

function summaryLines(summary: Summary): string[] {
  const { passed, utility, utilityUnderAttack, attackSuccess, doubleCharges, calls } = summary
  const rows: [string, string][] = [
    ['passed', shareText(passed)],
    ...passKRows(summary.passK).map(([k, share]) => [`pass^${k}`, percent(share)] as [string, string]),
    ['utility', shareText(utility)],
    ['utility under attack', shareText(utilityUnderAttack)],
    ['attack success', shareText(attackSuccess)],
    ['double charges', String(doubleCharges)],
    ['calls', String(calls)],
  ]
  return rows.map(([name, value]) => `${name.padEnd(20)}  ${value}`)
}

function shareText(share: Share): string {
  if (share.share === null) return 'nothing to measure'
  const count = `${share.passed} of ${share.of}`.padEnd(14)
  return `${count}  ${percent(share.share).padStart(6)}  (95 %: ${interval(share)})`
}

/** Why the first trial of each scenario failed that did. */
function reasonLines(scenarios: readonly ScenarioResults[]): string[] {
  const reasons = scenarios.flatMap(({ scenario, trials }) => {
    const first = trials.find(({ passed }) => !passed)
    if (first === undefined) return []
    const broken = brokenOff(first)
    const lines = [...(broken === undefined ? [] : [broken]), ...fallen(first).map(({ says }) => says)]
    return [`${scenario.id}, trial ${first.number}`, ...lines.map((line) => `  ${named(line, mostOfReason)}`)]
  })
  return reasons.length === 0 ? [] : ['', ...reasons]
}

const mostOfReason = 300

/** Somebody else's text in a terminal: on one line, without what steers it. */
function named(text: string, most?: number): string {
  return foreignName(withoutSecrets(text), '?', most)
}
