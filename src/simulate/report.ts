import { type Action, describeAction } from './action.ts'
import type { Mismatch } from './facts.ts'
import type { RunResult } from './run.ts'

export interface ReportOptions {
  agents: number
  purchases: number
  seed: string
  concurrency: number
  /** Where the run took place, in words. */
  where: string
  logSha256: string
}

export interface Shrunk {
  history: readonly Action[]
  mismatch: Mismatch
  tries: number
  /** Whether it failed again on a new world; `untried` where there is none, `impossible` where none could be made. */
  again: 'yes' | 'no' | 'untried' | 'impossible'
}

/** The result of a run. The lines about speed differ between two runs; all others are the same for the same seed. */
export function reportText(result: RunResult, options: ReportOptions): string {
  const { agents, purchases, seed, concurrency, where, logSha256 } = options
  const { elapsedMs } = result
  const calls = result.latenciesMs.length
  const sorted = result.latenciesMs.toSorted((one, other) => one - other)
  const at = concurrency === 1 ? 'in turns' : `up to ${concurrency} at a time`
  return [
    `${agents} agents x ${purchases} purchases, seed ${JSON.stringify(seed)}, ${at}, on ${where}`,
    '',
    ...outcomeLines(result.outcomes),
    '',
    `log      sha256 ${logSha256} (${result.done.length} actions)`,
    `speed    ${calls} calls in ${(elapsedMs / 1000).toFixed(1)} s, ${perSecond(calls, elapsedMs)} calls/s`,
    `latency  ${[50, 95, 99].map((percent) => `p${percent} ${percentile(sorted, percent)} ms`).join(', ')}`,
    `result   ${verdict(result)}`,
    '',
  ].join('\n')
}

/** The shortest failing history, for a person to read and to repeat. */
export function failureText({ history, mismatch, tries, again }: Shrunk): string {
  const { action, what, expected, actual } = mismatch
  const steps = history.map(
    (step, index) => `  ${String(index + 1).padStart(2)}. ${describeAction(step)}${madeName(step)}`,
  )
  const shown =
    steps.length > mostShown ? [`  … ${steps.length - mostShown} before`, ...steps.slice(-mostShown)] : steps
  const heading = {
    yes: `The shortest history found that fails (${history.length} actions, ${tries} tries):`,
    no: `It did not fail again on a new database (${tries} tries). The end of the history:`,
    impossible: 'No other run could be made to shorten it. The end of the history:',
    untried: 'Others may have used the wallet or moved the clock meanwhile. The end of the history:',
  }[again]
  return [
    'The service and the model disagree.',
    '',
    heading,
    ...shown,
    ...(action === undefined ? ['  then everything is read once more'] : []),
    '',
    ...(what === '' ? [] : [what]),
    `expected  ${expected}`,
    `actual    ${actual}`,
    '',
  ].join('\n')
}

const mostShown = 60

function madeName({ makes }: Action): string {
  return makes === undefined ? '' : ` (${makes})`
}

function verdict({ mismatch, interrupted, done }: RunResult): string {
  if (mismatch !== undefined) return `FAILED after ${done.length} actions`
  if (interrupted) return `interrupted after ${done.length} actions, which were all as predicted`
  return 'every answer was as predicted; money is conserved'
}

function outcomeLines(outcomes: RunResult['outcomes']): string[] {
  const rows = [...outcomes]
    .sort(byFirst)
    .flatMap(([tool, counts]) => [...counts].sort(byFirst).map((entry) => [tool, ...entry] as const))
  return rows.map(([tool, outcome, count], index) => {
    const shown = rows[index - 1]?.[0] === tool ? '' : tool
    return `${shown.padEnd(28)} ${outcome.padEnd(42)} ${String(count).padStart(7)}`
  })
}

function byFirst(one: readonly [string, unknown], other: readonly [string, unknown]): number {
  return one[0] < other[0] ? -1 : 1
}

function perSecond(count: number, ms: number): string {
  return ms > 0 ? (count / (ms / 1000)).toFixed(0) : '0'
}

function percentile(sorted: readonly number[], percent: number): string {
  const value = sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0
  return value.toFixed(1)
}
