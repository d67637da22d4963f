/**
 * A line of the printed table. Absolute figures depend on the machine, so only ratios are comparable between machines.
 */
export interface Row {
  measurement: string
  ours: string
  other: string
  ratio: string
  goal: string
  /**
   * Whether the goal is reached; empty if there is no goal. The number in `no (1)` refers to an explanation below the
   * table.
   */
  reached: 'yes' | 'no' | `no (${number})` | ''
}

export type Unit = 'ms' | '/s' | 'MB'
export type Goal = { atMost: number } | { atLeast: number }

interface Comparison {
  measurement: string
  unit: Unit
  /** The samples of this package, one per round. */
  ours: readonly number[] | undefined
  /** The samples of the other program, from the same rounds. */
  other: readonly number[] | undefined
  /** The goal for the ratio ours / other. A row without a goal is for information only. */
  goal?: Goal | undefined
}

/**
 * Takes one sample of every task in each round, so that a disturbance affects all tasks alike. An additional first
 * round is a warm-up, and its samples are dropped. Returns the samples of each task.
 */
export async function inTurns(rounds: number, tasks: readonly (() => Promise<number>)[]): Promise<number[][]> {
  const samples: number[][] = tasks.map(() => [])
  const indexed = [...tasks.entries()]
  for (let round = -1; round < rounds; round++) {
    for (const [index, task] of round % 2 === 0 ? indexed : indexed.toReversed()) {
      const sample = await task()
      if (round >= 0) samples[index]?.push(sample)
    }
  }
  return samples
}

/** Returns a row whose ratio is the median of the ratios of the rounds. */
export function compare({ measurement, unit, ours = [], other = [], goal }: Comparison): Row {
  const ratio = median(ours.map((sample, round) => sample / (other[round] ?? Number.NaN)))
  const row = { measurement, ours: summary(ours, unit), other: summary(other, unit), ratio: ratio.toFixed(2) }
  return { ...row, ...judge(ratio, goal) }
}

/** Returns a row without a ratio, for a figure that is judged by itself. */
export function single(measurement: string, ours: string, judgment: Pick<Row, 'goal' | 'reached'>, other = ''): Row {
  return { measurement, ours, other, ratio: '', ...judgment }
}

/** Returns the goal as text, and whether the figure reaches it. */
export function judge(figure: number, goal?: Goal, unit = ''): Pick<Row, 'goal' | 'reached'> {
  if (goal === undefined) return { goal: '', reached: '' }
  const reached = 'atMost' in goal ? figure <= goal.atMost : figure >= goal.atLeast
  const text = 'atMost' in goal ? `<= ${goal.atMost}` : `>= ${goal.atLeast}`
  return { goal: `${text}${unit}`, reached: reached ? 'yes' : 'no' }
}

/** Returns the median of the samples, and their range in parentheses, as text. */
export function summary(samples: readonly number[], unit: Unit): string {
  const text = (figure: number) => figure.toFixed(figure < 10 ? 2 : 0)
  return `${text(median(samples))} ${unit} (${text(Math.min(...samples))}–${text(Math.max(...samples))})`
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export function percentile(samples: readonly number[], share: number): number {
  return samples.toSorted((a, b) => a - b)[Math.floor((samples.length - 1) * share)] ?? Number.NaN
}

export async function measureMs(task: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await task()
  return performance.now() - startedAt
}

const columns = ['measurement', 'ours', 'other', 'ratio', 'goal', 'reached'] as const

export function tableText(rows: readonly Row[]): string {
  const heading = Object.fromEntries(columns.map((column) => [column, column]))
  const lines = [heading as unknown as Row, ...rows]
  const widths = columns.map((column) => Math.max(...lines.map((line) => line[column].length)))
  const text = lines.map((line) => columns.map((column, index) => line[column].padEnd(widths[index] ?? 0)).join('  '))
  text.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '))
  return text.map((line) => line.trimEnd()).join('\n')
}
