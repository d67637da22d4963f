import { z } from 'zod'
import { money } from '../core/money.ts'
import { nearestWord } from '../core/spelling.ts'
import { sha256 } from '../core/system.ts'

const name = /^[a-z][A-Za-z0-9]{0,39}$/
const Item = z.union([z.string().min(1).max(4000), z.int()])
const maxCents = 99_999_999

/** A range of integers. Amounts are in cents. */
const Range = z.strictObject({
  from: z.int().min(0).max(maxCents),
  to: z.int().min(0).max(maxCents),
  step: z.int().min(1).default(1),
})

/** The wordings of an attacker's text, in the order in which reports list them. */
export const wordings = ['plain', 'urgent', 'system'] as const
export type Wording = (typeof wordings)[number]

/** An attacker's text in three wordings. */
const Injection = z.strictObject({
  plain: z.string().min(1).max(4000),
  urgent: z.string().min(1).max(4000),
  system: z.string().min(1).max(4000).describe('Disguised as a system message'),
})

/** The named values of a scenario that differ between its trials (docs/rehearse.md#templates). */
export const Draws = z.record(
  z.string().regex(name, 'must be a name: a lowercase letter, then letters and digits'),
  z.union([
    z
      .array(z.union([Item, z.record(z.string().regex(name), Item)]))
      .min(1)
      .max(50)
      .describe('A list to choose from'),
    Range.describe('A range: from, to and step'),
    Injection.describe('An injection: plain, urgent and system'),
  ]),
)
export type Draws = z.output<typeof Draws>

/** A function that chooses one of `count` values for a name, and returns the index of the value. */
export type Choose = (name: string, count: number) => number

/** A mistake in a template, at a path within the scenario. */
export interface TemplateMistake {
  path: PropertyKey[]
  message: string
}

/**
 * Returns a function that derives its choices from a seed. The choice for one name does not depend on other names, so
 * adding a name changes no other value.
 */
export function chooseBySeed(seed: string): Choose {
  return (key, count) => Number.parseInt(sha256(JSON.stringify([seed, 'draw', key])).slice(0, 12), 16) % count
}

/** Returns the largest number of values that any of the names can have. A range counts as two values: its ends. */
export function maxChoices(draws: Draws): number {
  return Math.max(1, ...Object.values(draws).map((one) => (Array.isArray(one) ? one.length : 'from' in one ? 2 : 3)))
}

/**
 * Returns a function that chooses the value at the given position in each list. In a range, even positions choose the
 * lower end, and odd positions the upper end. The positions below `maxChoices(draws)` choose every value of each list.
 */
export function chooseAt(draws: Draws, position: number): Choose {
  return (key, count) => ('from' in (draws[key] ?? {}) ? (position % 2) * (count - 1) : position % count)
}

/** Chooses the wording that all injections in a trial use. Returns undefined if the scenario has no injections. */
export function wordingOf(draws: Draws, choose: Choose): Wording | undefined {
  const isAttacked = Object.values(draws).some((one) => 'plain' in one)
  return isAttacked ? wordings[choose('a wording', wordings.length)] : undefined
}

/** Lists the mistakes in the ranges. */
export function mistakesInDraws(draws: Draws): TemplateMistake[] {
  return Object.entries(draws).flatMap(([key, one]) => {
    if (!('from' in one)) return []
    const { from, to, step } = one
    const path = ['draw', key, 'from']
    if (from > to) return [{ path, message: `must be at most ${to}, which is the value of to` }]
    if ((to - from) % step === 0) return []
    return [{ path: ['draw', key, 'step'], message: `must divide the length of the range, which is ${to - from}` }]
  })
}

type Value = string | number
type Values = ReadonlyMap<string, Value | Readonly<Record<string, Value>>>

/** Fields that must be the same in all trials. Their placeholders are not replaced. */
const fixedFields: ReadonlySet<PropertyKey> = new Set(['draw', 'id', 'pair', 'group', 'title'])

/**
 * Replaces the `{names}` in a scenario with values.
 * @param scenario the scenario as written in its file
 * @param facts the names of the facts in the scenario's `person.knows`; their placeholders in the goal are kept
 * @param report called for each mistake
 */
export function fillScenario(
  scenario: Readonly<Record<string, unknown>>,
  draws: Draws,
  { choose, facts, report }: { choose: Choose; facts: readonly string[]; report(mistake: TemplateMistake): void },
): Record<string, unknown> {
  const values = valuesOf(draws, choose, report)
  const { draw: _, ...others } = scenario
  const fill = (value: unknown, path: PropertyKey[]): unknown => {
    if (typeof value === 'string') {
      const openNames = path[0] === 'goal' ? facts : []
      return filledText(value, values, { openNames, report: (message) => report({ path, message }) })
    }
    if (Array.isArray(value)) return value.map((one, at) => fill(one, [...path, at]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one, [...path, key])]))
  }
  return Object.fromEntries(
    Object.entries(others).map(([key, one]) => [key, fixedFields.has(key) ? one : fill(one, [key])]),
  )
}

function valuesOf(draws: Draws, choose: Choose, report: (mistake: TemplateMistake) => void): Values {
  const values = new Map<string, Value | Readonly<Record<string, Value>>>()
  const wording = wordingOf(draws, choose)
  for (const [key, one] of Object.entries(draws)) {
    if (Array.isArray(one)) values.set(key, one[choose(key, one.length)] ?? '')
    else if ('from' in one) values.set(key, one.from + one.step * choose(key, (one.to - one.from) / one.step + 1))
  }
  // An injection may contain drawn values, such as an amount.
  const plain = new Map(values)
  for (const [key, one] of Object.entries(draws)) {
    if (Array.isArray(one) || !('plain' in one)) continue
    for (const each of wordings) {
      const path = ['draw', key, each]
      const text = filledText(one[each], plain, { openNames: [], report: (message) => report({ path, message }) })
      if (each === wording) values.set(key, text)
    }
  }
  return values
}

interface Filling {
  openNames: readonly string[]
  report(message: string): void
}

const placeholder = /\{([a-z\d][\w .*+-]*)\}/g

/**
 * Replaces placeholders in a string. If the whole string is one placeholder, returns its value, which may be a number.
 */
function filledText(text: string, values: Values, filling: Filling): Value {
  const [whole] = text.matchAll(placeholder)
  if (whole?.[0] === text) return resolveName(whole[1] ?? '', values, filling) ?? text
  return text.replace(placeholder, (found, expression: string) =>
    String(resolveName(expression, values, filling) ?? found),
  )
}

const formats: Readonly<Record<string, (cents: number) => string>> = {
  dollars: (cents) => (cents % 100 === 0 ? String(cents / 100) : (cents / 100).toFixed(2)),
  money: (cents) => money(cents),
}

const sum =
  /^(?:(\d+) ?([+-]) ?)?(?:(\d+) ?\* ?)?([a-z]\w*)((?:\.\w+)*)((?: ?[+-] ?(?:(?:\d+ ?\* ?)?[a-z]\w*(?:\.\w+)?|\d+))*)$/
const summand = /([+-]) ?(?:(\d+) ?\* ?)?(?:([a-z]\w*)(?:\.(\w+))?|(\d+))/g

/** Evaluates the expression in braces: a name, a field or a sum. Each of these may end with a format. */
function resolveName(source: string, values: Values, filling: Filling): Value | undefined {
  const [format, expression] = splitFormat(source.trim())
  const read = sum.exec(expression)
  if (read === null)
    return void filling.report(`uses {${source}}, which is neither a name nor a sum of names and numbers`)
  const [, start, startSign, times, key = '', fields = '', rest = ''] = read
  if (filling.openNames.includes(key)) return undefined
  const first = namedValue(key, fields.slice(1), values, filling)
  if (first === undefined) return undefined
  const parts = [...rest.matchAll(summand)]
  const isSum = parts.length > 0 || times !== undefined || start !== undefined
  if (!isSum && format === undefined) return first
  let cents = Number(start ?? 0) + (startSign === '-' ? -1 : 1) * Number(times ?? 1) * Number(first)
  for (const [, sign, factor = '1', other, field = '', number] of parts) {
    const value = other === undefined ? Number(number) : Number(namedValue(other, field, values, filling) ?? Number.NaN)
    cents += (sign === '-' ? -1 : 1) * Number(factor) * value
  }
  if (Number.isNaN(cents))
    return void filling.report(`uses {${source}}, which calculates with a string; only numbers can be used there`)
  return format === undefined ? cents : formats[format]?.(cents)
}

/** Splits off the format at the end of an expression: `.dollars` or `.money`. */
function splitFormat(source: string): [format: string | undefined, expression: string] {
  const [, expression = source, format] = /^(.*)\.(dollars|money)$/.exec(source) ?? []
  return [format, expression]
}

function namedValue(key: string, field: string, values: Values, { report }: Filling): Value | undefined {
  const value = values.get(key)
  if (value === undefined) {
    const nearestKey = nearestWord(key, [...values.keys()])
    return void report(
      `uses {${key}}, which draw does not define${nearestKey === undefined ? `; ${definedNames(values.keys())}` : ` (did you mean ${nearestKey}?)`}`,
    )
  }
  if (typeof value !== 'object') {
    return field === '' ? value : void report(`uses {${key}.${field}}, but ${key} has no fields`)
  }
  const found = value[field]
  return (
    found ??
    void report(
      `uses {${field === '' ? key : `${key}.${field}`}}; the fields of ${key} are ${Object.keys(value).join(', ')}`,
    )
  )
}

const definedNames = (names: Iterable<string>) => `draw defines ${[...names].join(', ') || 'nothing'}`
