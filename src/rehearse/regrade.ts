import { z } from 'zod'
import { parseFile, WorldFileError } from '../worlds/parse-file.ts'
import { nothingRead } from './answer/reading.ts'
import { judge } from './judge.ts'
import { drawnParts } from './load-scenarios.ts'
import { asResults, resultsOf } from './rehearse.ts'
import type { Results, Trial } from './results.ts'
import { Assertion, DrawnParts, families, groups, Scenario } from './scenario.ts'
import { ModelSettings, TrialRecord } from './trial-record.ts'
import { trialSeed } from './trial-system.ts'

/** A recorded trial without its verdicts. Versions before 0.2.0 did not record the fields `effects` and `read`. */
const RecordedTrial = TrialRecord.partial({ effects: true, read: true }).extend({ asked: DrawnParts.exactOptional() })

const RecordedResults = z.object({
  format: z.literal(1),
  agent: z.string(),
  seed: z.string(),
  trials: z.int(),
  model: ModelSettings.exactOptional(),
  scenarios: z.array(
    z.object({
      scenario: z.object({
        id: z.string(),
        pair: z.string().optional(),
        group: z.enum(groups).optional(),
        family: z.enum(families).optional(),
        ...{ title: z.string(), attack: z.boolean(), task: z.string() },
        ...{ expect: z.array(Assertion), never: z.array(Assertion) },
        ...{ allow: Scenario.shape.allow, unasked: Scenario.shape.unasked, answer: Scenario.shape.answer },
      }),
      trials: z.array(RecordedTrial),
    }),
  ),
})

export type RecordedResults = z.output<typeof RecordedResults>
type RecordedScenario = RecordedResults['scenarios'][number]['scenario']

/**
 * Parses the text of a `results.json`, which may be larger than `parseFile` allows for other files.
 * @param name the name of the file in error messages
 * @throws WorldFileError with the first mistake in the file
 */
export function readResults(text: string, name: string): RecordedResults {
  try {
    return parseFile(jsonOf(text) ?? text, name, RecordedResults)
  } catch (error) {
    if (!(error instanceof WorldFileError)) throw error
    // Nobody writes this file by hand, so the first error is enough to show that it is the wrong file.
    throw new WorldFileError([`${error.lines[0]} Give the path of a results.json that a rehearsal wrote.`])
  }
}

/**
 * Parses a JSON object. Returns undefined for any other text; `parseFile` then reports what is wrong with that text.
 */
function jsonOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Parses the text of a `trials.jsonl`. Each line has the format of a `results.json` with one trial. An incomplete last
 * line is ignored.
 * @returns undefined if there is no complete line
 */
export function readTrials(text: string, name: string): RecordedResults | undefined {
  const complete = text.split('\n').slice(0, -1)
  const read = complete.map((line, at) => readResults(line, `${name}:${at + 1}`))
  const [first] = read
  const byId = Map.groupBy(
    read.flatMap(({ scenarios }) => scenarios),
    ({ scenario }) => scenario.id,
  )
  const scenarios = [...byId.values()].flatMap(([one, ...more]) =>
    one === undefined ? [] : [{ ...one, trials: [one, ...more].flatMap(({ trials }) => trials) }],
  )
  return first && { ...first, scenarios }
}

/**
 * Judges recorded trials again, by the current scenario with the recorded id. If there is no such scenario, judges by
 * the recorded scenario.
 */
export function regrade(recorded: RecordedResults, scenarios: readonly Scenario[], { isStrict = false } = {}): Results {
  const now = new Map(scenarios.map((scenario) => [scenario.id, scenario]))
  const judged = recorded.scenarios.map(({ scenario, trials }) => {
    const current = now.get(scenario.id) ?? (scenario as Scenario)
    return resultsOf(
      current,
      trials.map((trial): Trial => {
        const whole = withMissingParts(trial)
        const { asked, trialFields } = judgedPartsOf(current, scenario, whole, recorded.seed)
        return { ...whole, ...trialFields, ...judge({ ...current, ...asked }, whole, { isStrict }) }
      }),
    )
  })
  return asResults(recorded, judged)
}

/**
 * Returns the parts of a scenario that contain drawn values, so that a trial can be judged by them. The values are
 * drawn again. If the resulting task differs from the recorded task, the scenario has changed since the trial. In that
 * case, returns the recorded parts.
 */
function judgedPartsOf(
  current: Scenario,
  recorded: RecordedScenario,
  { asked, number }: Pick<Trial, 'asked' | 'number'>,
  seed: string,
) {
  if (current.draw === undefined)
    return { asked: asked !== undefined && current === recorded ? asked : {}, trialFields: {} }
  const parts = drawnParts(current, trialSeed(seed, current.id, number))
  if (parts.task === (asked ?? recorded).task) return { asked: parts, trialFields: { asked: parts } }
  return { asked: asked ?? recorded, trialFields: {} }
}

/**
 * Adds the parts that an earlier version of this package did not record, as empty values, and lists them in `lacks`.
 */
function withMissingParts({ effects, read, ...trial }: z.output<typeof RecordedTrial>) {
  const lacks = [effects === undefined ? ['effects' as const] : [], read === undefined ? ['read' as const] : []].flat()
  const parts = { effects: effects ?? [], read: read ?? nothingRead }
  return { ...trial, ...parts, ...(lacks.length === 0 ? {} : { lacks }) }
}
