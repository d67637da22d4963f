import { z } from 'zod'
import { listItems } from '../worlds/fields.ts'
import {
  type Choose,
  chooseAt,
  chooseBySeed,
  Draws,
  fillScenario,
  maxChoices,
  mistakesInDraws,
  type TemplateMistake,
} from './draws.ts'
import { Scenario } from './scenario.ts'

/** A scenario as written in its file, before its `{names}` are replaced by drawn values. */
export type Template = Readonly<Record<string, unknown>>

/**
 * Returns a schema for a file of scenarios whose strings may contain `{names}`. The schema checks each scenario with
 * every value of each list and with both ends of each range. The parsed scenario contains the first value of each list
 * and range.
 * @param schema the schema of a file without `{names}`
 * @param onTemplate called for each scenario, in the file's order
 */
export function withDraws<Schema extends z.ZodType>(schema: Schema, onTemplate: (template: Template) => void) {
  return z.preprocess((value, context) => {
    const scenarios = listItems(value, 'id')
    if (!Array.isArray(scenarios)) return scenarios
    return scenarios.map((one: unknown, at) => {
      const template = isTemplate(one) ? one : {}
      onTemplate(template)
      if (template.draw === undefined) return one
      const draws = Draws.safeParse(template.draw)
      const addIssue = (issue: z.core.$ZodIssue, path: readonly PropertyKey[]) =>
        context.addIssue({ ...issue, path: [at, ...path, ...issue.path] } as Parameters<typeof context.addIssue>[0])
      if (!draws.success) {
        for (const issue of draws.error.issues) addIssue(issue, ['draw'])
        return one
      }
      const { mistakes, first } = fillAll(template, draws.data)
      for (const { path, message } of mistakes) context.addIssue({ code: 'custom', path: [at, ...path], message })
      if (mistakes.length === 0) for (const issue of first.issues) addIssue(issue, [])
      return { ...first.filled, draw: draws.data }
    })
  }, schema)
}

const isTemplate = (value: unknown): value is Template => typeof value === 'object' && value !== null

/**
 * Fills a template with the first value of each list and range, then with the second values, and so on. Does not try
 * all combinations. Returns the mistakes, and the scenario that is filled with the first values.
 */
function fillAll(template: Template, draws: Draws) {
  const mistakes = new Map<string, TemplateMistake>()
  for (const mistake of mistakesInDraws(draws)) mistakes.set(JSON.stringify(mistake), mistake)
  const fill = (choose: Choose) =>
    fillTemplate(template, draws, choose, (mistake) => mistakes.set(JSON.stringify(mistake), mistake))
  const first = fill(chooseAt(draws, 0))
  const isSound = mistakes.size === 0 && Scenario.safeParse(first).success
  const others = isSound ? Array.from({ length: maxChoices(draws) - 1 }, (_, at) => fill(chooseAt(draws, at + 1))) : []
  const issues = others.flatMap((other) => Scenario.safeParse(other).error?.issues ?? []).slice(0, 1)
  return { mistakes: [...mistakes.values()], first: { filled: first, issues } }
}

function fillTemplate(template: Template, draws: Draws, choose: Choose, report: (mistake: TemplateMistake) => void) {
  const { person } = template
  const { knows } = (isTemplate(person) ? person : {}) as { knows?: unknown }
  const facts = isTemplate(knows) ? Object.keys(knows) : []
  return fillScenario(template, draws, { choose, facts, report })
}

/** Fills a template with the values that are drawn for the trial with this seed. */
export function filledBySeed(template: Template, draws: Draws, seed: string): Record<string, unknown> {
  return fillTemplate(template, draws, chooseBySeed(seed), ({ message }) => {
    throw new Error(`Bug: a checked scenario ${message}.`)
  })
}
