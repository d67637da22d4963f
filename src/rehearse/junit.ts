import { reasons, rightOf, truthOf } from './report/words.ts'
import { withoutSecrets } from './report-text.ts'
import type { Results, ScenarioResults, Trial } from './results.ts'
import { isJudged } from './trial-record.ts'

/**
 * Writes results as JUnit XML for CI systems: a suite for each scenario, and a case for each trial. A trial that the
 * agent failed is a failure; a trial that could not be run is an error.
 */
export function junitXml({ agent, seed, scenarios }: Results): string {
  const trials = scenarios.flatMap((scenario) => scenario.trials)
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites${attributes({ name: `rehearsal of ${agent}, seed ${seed}`, ...counts(trials) })}>
${scenarios.map(suite).join('')}</testsuites>
`
}

function suite({ scenario, trials }: ScenarioResults): string {
  const cases = trials.map((trial) => {
    const name = `${scenario.title} (trial ${trial.number})`
    const about = attributes({ classname: scenario.id, name, time: seconds(trial.durationMs) })
    const systemOut = trial.answer === '' ? '' : `<system-out>${escaped(trial.answer)}</system-out>`
    return `    <testcase${about}>${outcome(trial)}${systemOut}</testcase>\n`
  })
  const columns = properties({ 'did right': rightOf(trials), 'told the truth': truthOf(trials) })
  return `  <testsuite${attributes({ name: scenario.id, ...counts(trials) })}>\n${columns}${cases.join('')}  </testsuite>\n`
}

function properties(values: Record<string, string>): string {
  const all = Object.entries(values).map(([name, value]) => `      <property${attributes({ name, value })}/>\n`)
  return `    <properties>\n${all.join('')}    </properties>\n`
}

function outcome(trial: Trial): string {
  if (trial.passed) return ''
  const lines = reasons(trial)
  const [message = ''] = lines
  const element = couldNotRun(trial) ? 'error' : 'failure'
  return `<${element}${attributes({ message, type: typeOf(trial) })}>${escaped(lines.join('\n'))}</${element}>`
}

const couldNotRun = (trial: Trial) => trial.ended === 'failed' || !isJudged(trial)

/**
 * Returns the type of a failure. Without an answer, the type is how the trial ended. Otherwise, it states whether the
 * acts or the answer failed the trial.
 */
function typeOf({ ended, didRight, toldTruth }: Trial): string {
  if (ended !== 'answered') return ended
  if (!didRight) return 'assertion'
  return toldTruth === 'unclear' ? 'unclear_answer' : 'untrue_answer'
}

function counts(trials: readonly Trial[]) {
  const failed = trials.filter(({ passed }) => !passed)
  const errors = failed.filter(couldNotRun).length
  const time = seconds(trials.reduce((total, { durationMs }) => total + durationMs, 0))
  return { tests: trials.length, failures: failed.length - errors, errors, skipped: 0, time }
}

const seconds = (ms: number) => (ms / 1000).toFixed(3)

function attributes(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(
      ([name, value]) => ` ${name}="${escaped(String(value)).replace(/[\t\n\r]/g, (it) => `&#${it.charCodeAt(0)};`)}"`,
    )
    .join('')
}

/** Escapes a string for XML 1.0. Characters that XML forbids, and those that reorder text, become U+FFFD. */
function escaped(text: string): string {
  return withoutSecrets(text)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\p{Bidi_Control}/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => entities[character] ?? character)
    .replaceAll('\r', '&#13;')
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
