import { type Action, describeAction } from './action.ts'
import type { Mismatch } from './facts.ts'
import type { RunResult } from './run.ts'

interface ReportOptions {
  agents: number
  purchases: number
  seed: string
  /** How many agents called at the same time; 1 means that they took turns. */
  concurrency: number
  /** A description of the database or server that the run used. */
  where: string
  logSha256: string
}

export interface Shrunk {
  history: readonly Action[]
  mismatch: Mismatch
  tries: number
  /**
   * Whether the history failed again when it was repeated. `untried`: it was not repeated, because the database or API
   * is shared. `impossible`: it could not be repeated, for example because the disk is full.
   */
  again: 'yes' | 'no' | 'untried' | 'impossible'
}

/** The report of a run as data. Reports of runs with the same options differ only in their times. */
export interface Summary extends ReportOptions {
  result: 'as predicted' | 'failed' | 'interrupted'
  /** The number of actions carried out. */
  actions: number
  /** The number of requests and tool calls that got an injected fault; null if the run injects none. */
  faults: number | null
  /** How often each tool had each outcome. */
  outcomes: Record<string, Record<string, number>>
  seconds: { start: number; calls: number; finalCheck: number; total: number }
  calls: { count: number; perSecond: number; latencyMs: { p50: number; p95: number; p99: number } }
  /** The difference between the service and the model; null if there was none. */
  failure: Failure | null
}

export interface Failure {
  /** An explanation; empty if `expected` and `actual` alone show the mismatch. */
  what: string
  expected: string
  actual: string
  again: Shrunk['again']
  tries: number
  /** Whether the mismatch was found by the final check, after the last action. */
  atTheEnd: boolean
  history: readonly Action[]
}

export function summaryOf(result: RunResult, { logSha256, ...options }: ReportOptions): Summary {
  const { agents, purchases, seed, concurrency, where } = options
  const { startMs, callsMs, finalCheckMs } = result.durations
  const count = result.latenciesMs.length
  const sorted = result.latenciesMs.toSorted((one, other) => one - other)
  return {
    result: result.mismatch !== undefined ? 'failed' : result.interrupted ? 'interrupted' : 'as predicted',
    ...{ agents, purchases, seed, concurrency, where },
    actions: result.done.length,
    logSha256,
    faults: result.faults ?? null,
    outcomes: Object.fromEntries(
      [...result.outcomes].sort(byFirst).map(([tool, counts]) => [tool, Object.fromEntries([...counts].sort(byFirst))]),
    ),
    seconds: {
      start: seconds(startMs),
      calls: seconds(callsMs),
      finalCheck: seconds(finalCheckMs),
      total: seconds(startMs + callsMs + finalCheckMs),
    },
    calls: {
      count,
      perSecond: callsMs > 0 ? Math.round(count / (callsMs / 1000)) : 0,
      latencyMs: { p50: percentile(sorted, 50), p95: percentile(sorted, 95), p99: percentile(sorted, 99) },
    },
    failure: null,
  }
}

export function failureOf({ history, mismatch, tries, again }: Shrunk): Failure {
  const { action, what, expected, actual } = mismatch
  return { what, expected, actual, again, tries, atTheEnd: action === undefined && history.length > 0, history }
}

/** Renders the summary as text, with the failing history if there is one. */
export function reportText(summary: Summary): string {
  const { agents, purchases, seed, concurrency, where, seconds: took, calls, actions, failure } = summary
  const pace = concurrency === 1 ? 'in turns' : `up to ${concurrency} at a time`
  const part = (name: string, part: number) =>
    `${name} ${part.toFixed(1)} s (${took.total > 0 ? Math.round((part / took.total) * 100) : 0} %)`
  const parts = [part('start', took.start), part('calls', took.calls), part('final check', took.finalCheck)]
  const latencies = Object.entries(calls.latencyMs).map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
  return [
    `${agents} agents x ${purchases} purchases, seed ${JSON.stringify(seed)}, ${pace}, on ${where}`,
    '',
    ...outcomeLines(summary.outcomes),
    '',
    `log      sha256 ${summary.logSha256} (${actions} actions)`,
    ...(summary.faults === null ? [] : [`faults   ${summary.faults} requests and tool calls got an injected fault`]),
    `time     ${took.total.toFixed(1)} s: ${parts.join(', ')}`,
    `speed    ${calls.count} calls in ${took.calls.toFixed(1)} s, ${calls.perSecond} calls/s`,
    `latency  ${latencies.join(', ')}`,
    `result   ${verdict(summary)}`,
    '',
    ...(failure === null ? [] : failureLines(failure)),
  ].join('\n')
}

function failureLines({ what, expected, actual, again, tries, atTheEnd, history }: Failure): string[] {
  const steps = history.map(
    (step, index) => `  ${String(index + 1).padStart(2)}. ${describeAction(step)}${madeName(step)}`,
  )
  const visibleSteps =
    steps.length > maxShown ? [`  … ${steps.length - maxShown} earlier actions`, ...steps.slice(-maxShown)] : steps
  const heading = {
    yes: `The shortest failing history found (${history.length} actions, ${tries} tries):`,
    no: `The failure did not recur on a new database (${tries} tries). The last actions:`,
    impossible: 'No further run could be started to shorten the history. The last actions:',
    untried: 'Somebody else may have used the wallet or moved the clock during the run. The last actions:',
  }[again]
  return [
    'The service and the model disagree.',
    '',
    ...(history.length === 0 ? ['The run failed before its first action.'] : [heading, ...visibleSteps]),
    ...(atTheEnd ? ['  Final check: all records are read again.'] : []),
    '',
    ...(what === '' ? [] : [what]),
    `expected  ${expected}`,
    `actual    ${actual}`,
    '',
  ]
}

const maxShown = 60

function madeName({ makes }: Action): string {
  return makes === undefined ? '' : ` (${makes})`
}

function verdict({ result, actions }: Summary): string {
  if (result === 'failed') return `FAILED after ${actions} actions`
  if (result === 'interrupted') return `interrupted after ${actions} actions; their answers were as predicted`
  return 'every answer was as predicted; money is conserved'
}

function outcomeLines(outcomes: Summary['outcomes']): string[] {
  const rows = Object.entries(outcomes).flatMap(([tool, counts]) =>
    Object.entries(counts).map((entry) => [tool, ...entry] as const),
  )
  return rows.map(([tool, outcome, count], index) => {
    const toolName = rows[index - 1]?.[0] === tool ? '' : tool
    return `${toolName.padEnd(28)} ${outcome.padEnd(42)} ${String(count).padStart(7)}`
  })
}

function byFirst(one: readonly [string, unknown], other: readonly [string, unknown]): number {
  return one[0] < other[0] ? -1 : 1
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}

/** Returns a percentile of times in milliseconds, rounded to a tenth of a millisecond. */
function percentile(sorted: readonly number[], percent: number): number {
  const value = sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0
  return Math.round(value * 10) / 10
}
