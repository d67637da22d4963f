/** One line of what the bench prints. Absolute figures only serve the ratio: they change from machine to machine. */
export interface Row {
  measurement: string
  ours: string
  other: string
  ratio: string
  goal: string
  reached: 'yes' | 'no' | ''
}

export type Unit = 'ms' | '/s' | 'MB'

interface Comparison {
  measurement: string
  unit: Unit
  /** One sample per round; those of a round were taken one right after the other. */
  ours: readonly number[]
  other: readonly number[]
  /** For the ratio ours / other; without one the row is for information. */
  goal?: Goal
}

export type Goal = { atMost: number } | { atLeast: number }

/** The ratio is the median of the rounds' own ratios: what disturbs a round disturbs both of its samples. */
export function compare({ measurement, unit, ours, other, goal }: Comparison): Row {
  const ratio = median(ours.map((sample, round) => sample / (other[round] ?? Number.NaN)))
  const row = { measurement, ours: summary(ours, unit), other: summary(other, unit), ratio: ratio.toFixed(2) }
  return { ...row, ...judged(ratio, goal) }
}

/** How a figure stands to its goal. */
export function judged(figure: number, goal?: Goal, unit = ''): Pick<Row, 'goal' | 'reached'> {
  if (goal === undefined) return { goal: '', reached: '' }
  const reached = 'atMost' in goal ? figure <= goal.atMost : figure >= goal.atLeast
  const text = 'atMost' in goal ? `<= ${goal.atMost}` : `>= ${goal.atLeast}`
  return { goal: `${text}${unit}`, reached: reached ? 'yes' : 'no' }
}

/** The median, and from the least to the most. */
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

const columns = ['measurement', 'ours', 'other', 'ratio', 'goal', 'reached'] as const

export function tableText(rows: readonly Row[]): string {
  const heading = Object.fromEntries(columns.map((column) => [column, column === 'other' ? 'the other' : column]))
  const lines = [heading as unknown as Row, ...rows]
  const widths = columns.map((column) => Math.max(...lines.map((line) => line[column].length)))
  const text = lines.map((line) => columns.map((column, index) => line[column].padEnd(widths[index] ?? 0)).join('  '))
  text.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '))
  return text.map((line) => line.trimEnd()).join('\n')
}
