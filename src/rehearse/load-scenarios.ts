import { readdir, readFile } from 'node:fs/promises'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { nearestWord } from '../core/spelling.ts'
import { listOf } from '../worlds/fields.ts'
import { type ParsedFile, parsedFile, parseFile, WorldFileError } from '../worlds/parse-file.ts'
import { readText } from '../worlds/read-text.ts'
import type { World } from '../worlds/schema.ts'
import { chooseBySeed, wordingOf } from './draws.ts'
import { missingIn } from './questions.ts'
import { type DrawnParts, groups, Scenario } from './scenario.ts'
import { filledBySeed, type Template, withDraws } from './templates.ts'

/**
 * The folder of the built-in scenarios. Each file contains one pair: a trap and its harmless twin. The build copies the
 * folder next to the code.
 */
const builtInFolder = new URL('./scenarios/', import.meta.url)

/** The schema of a file: a list of scenarios, or a map of them by id (docs/rehearse.md#scenarios-of-your-own). */
const scenarioFile = listOf(Scenario, 'id').superRefine((scenarios, context) => {
  for (const [at, { id, expect, never, goal, person }] of scenarios.entries()) {
    const addIssue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [at, path], message })
    if (scenarios.findIndex((one) => one.id === id) < at)
      addIssue('id', 'is already used in this file, and must be unique')
    const unknown = goal === undefined ? [] : missingIn(goal).filter((name) => !Object.hasOwn(person.knows, name))
    if (unknown.length > 0) addIssue('goal', `uses {${unknown[0]}}, which is not in person.knows`)
    if (expect.length + never.length === 0)
      addIssue('expect', 'and never are both empty, so nothing would be judged: add an assertion')
  }
})

/**
 * Loads the chosen scenarios without duplicates. Each choice is the path of a file, or the name of a built-in scenario,
 * pair, group or family. If nothing is chosen, loads all built-in scenarios.
 * @throws ConfigError with a line for each mistake
 */
export async function loadScenarios(chosen: readonly string[] = []): Promise<Scenario[]> {
  if (chosen.length === 0) return builtInScenarios()
  const builtIn = chosen.every(isPath) ? [] : await builtInScenarios()
  const selected = await Promise.all(
    chosen.map(async (word) => (isPath(word) ? fromFile(word) : scenariosNamed(builtIn, word))),
  )
  return requireUniqueIds(selected.flat())
}

/** Loads the built-in scenarios, sorted by group. */
async function builtInScenarios(): Promise<Scenario[]> {
  const names = (await readdir(builtInFolder)).filter((name) => name.endsWith('.yaml')).sort()
  const files = await Promise.all(
    names.map(async (name) => parseScenarios(await readFile(new URL(name, builtInFolder), 'utf8'), name)),
  )
  return files.flat().toSorted((one, other) => rank(one) - rank(other))
}

const rank = ({ group }: Scenario) => (group === undefined ? groups.length : groups.indexOf(group))

/** Reads the scenarios of a file. @throws WorldFileError with a line for each mistake, including mistakes in worlds */
export function parseScenarios(source: string | object, name: string): Scenario[] {
  const read: Template[] = []
  const schema = withDraws(scenarioFile, (template) => read.push(template))
  const { value, refusal } = parsedFile(source, name, schema)
  for (const [at, scenario] of value.entries()) {
    const pathOf = (path: readonly PropertyKey[]) => [at, ...(path[0] === 'shops' ? path : ['world', ...path])]
    sources.set(scenario, {
      template: read[at] ?? {},
      refusal: (path, message) => refusal(pathOf(path), message),
    })
  }
  return value
}

/** The template of a scenario, and a function that creates the error for a mistake in its world. */
interface Source {
  template: Template
  refusal: ParsedFile<World>['refusal']
}

const sources = new WeakMap<Scenario, Source>()

/**
 * Returns the scenario for the trial with the given seed: `{names}` are replaced by values, and `draw` is removed. The
 * same seed leads to the same values. A scenario without `draw` is returned unchanged.
 */
export function drawScenario(scenario: Scenario, trialSeed: string): Scenario {
  const { id, draw } = scenario
  if (draw === undefined) return scenario
  const source = sources.get(scenario)
  if (source === undefined) throw new Error(`Bug: the scenario ${id} has draw, but was not read from a file.`)
  const drawnScenario = parseFile(filledBySeed(source.template, draw, trialSeed), id, Scenario)
  sources.set(drawnScenario, source)
  return drawnScenario
}

/**
 * Returns the parts of the scenario that are used to judge the trial with the given seed. If the scenario has
 * injections, also returns the wording that they have in this trial.
 */
export function drawnParts(scenario: Scenario, trialSeed: string): DrawnParts {
  const { task, expect, never, allow, answer } = drawScenario(scenario, trialSeed)
  const wording = wordingOf(scenario.draw ?? {}, chooseBySeed(trialSeed))
  return {
    ...{ task, expect, never, allow },
    ...(answer === undefined ? {} : { answer }),
    ...(wording === undefined ? {} : { wording }),
  }
}

/**
 * Returns a function that creates the error for a mistake in a scenario's world. The error states the position of the
 * mistake in the file. Returns undefined if the scenario was not read from a file.
 */
export function worldRefusal(scenario: Scenario): ParsedFile<World>['refusal'] | undefined {
  return sources.get(scenario)?.refusal
}

const isPath = (word: string) => /[/\\]|\.(?:ya?ml|json)$/.test(word)

function scenariosNamed(builtIn: readonly Scenario[], word: string): Scenario[] {
  const found = builtIn.filter(({ id, pair, group, family }) => [id, pair, group, family].includes(word))
  if (found.length > 0) return found
  const knownWords = [...new Set(builtIn.flatMap(({ id, pair, group, family }) => [id, pair, group, family]))].filter(
    (name) => name !== undefined,
  )
  const nearestName = nearestWord(word, knownWords)
  const advice =
    nearestName === undefined ? `groups are ${groups.join(', ')}; --list shows all` : `did you mean ${nearestName}?`
  throw wordError(word, `is not a scenario, a pair, a group, a family or the path of a file; ${advice}`)
}

async function fromFile(path: string): Promise<Scenario[]> {
  const text = await readText(path, { missing: 'does not exist.', createError: (reason) => wordError(path, reason) })
  try {
    return parseScenarios(text, path)
  } catch (error) {
    throw error instanceof WorldFileError ? wordError(path, `cannot be used:\n${error.message}`) : error
  }
}

/**
 * Removes repeated scenarios, and refuses different scenarios with the same id, because reports identify scenarios by
 * their ids.
 */
function requireUniqueIds(scenarios: readonly Scenario[]): Scenario[] {
  const byId = new Map<string, Scenario>()
  for (const scenario of scenarios) {
    const before = byId.get(scenario.id)
    if (before !== undefined && before !== scenario) {
      throw wordError(scenario.id, 'is the id of two scenarios; rename one of them')
    }
    byId.set(scenario.id, scenario)
  }
  return [...byId.values()]
}

const wordError = (word: string, reason: string) => new ConfigError(`--scenarios got ${show(word)}, which ${reason}`)
