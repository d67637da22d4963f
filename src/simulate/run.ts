import { type Action, argumentsOf, describeAction } from './action.ts'
import { describeFacts, equalFacts, type Facts, type Mismatch, outcomeOf } from './facts.ts'
import { compareEnd } from './final-check.ts'
import { createModel, type Model, type Prediction } from './model/model.ts'
import type { Start } from './model/state.ts'
import type { ToolAnswer } from './reader/reader.ts'
import { type Caller, inspect, type RunOptions, type Situation, seededStart, type World } from './world.ts'

export interface RunResult {
  mismatch: Mismatch | undefined
  /** The actions that were carried out, in the order of the history. */
  done: Action[]
  /** One line for each of these actions: the same in every run of the same history. */
  log: string[]
  /** How often each tool had each outcome: `tool`, then `outcome`. */
  outcomes: Map<string, Map<string, number>>
  /** Milliseconds of each call. */
  latenciesMs: number[]
  /** Milliseconds from the first call to the last answer. */
  elapsedMs: number
  interrupted: boolean
}

/** What a run is planned on: a history may depend on the money there is. */
export type Plan = (situation: Situation) => readonly Action[]

/** Carries out a history on a world; compares every answer, and in the end every record, with the model. */
export async function runHistory(plan: Plan, agents: readonly number[], options: RunOptions): Promise<RunResult> {
  const world = await options.target.open()
  const callers = new Map<number, Caller>()
  try {
    return await connectAndCarryOut(world, callers, plan, agents, options)
  } catch (error) {
    if (await isInterrupted(options)) return { ...nothingDone(), interrupted: true }
    throw error
  } finally {
    await Promise.allSettled([...callers.values()].map((caller) => caller.close()))
    await world.close()
  }
}

async function connectAndCarryOut(
  world: World,
  callers: Map<number, Caller>,
  plan: Plan,
  agents: readonly number[],
  options: RunOptions,
): Promise<RunResult> {
  // The first connection makes the schema and the seeded world; the others find them.
  for (const agent of agents.slice(0, 1)) callers.set(agent, await world.connect(agent))
  await connectAll(world, agents.slice(1), callers)
  const [first] = callers.values()
  if (first === undefined) throw new Error('Bug: a run without agents.')
  const situation = await inspect(first, options.concurrency === 1)
  return await carryOut(plan(situation), { callers, first, situation, options })
}

/**
 * Whether the run was interrupted. Ctrl+C reaches the servers too, perhaps before this process: then a broken
 * connection is no fault.
 */
async function isInterrupted({ system, signal }: RunOptions): Promise<boolean> {
  await system.sleep(100)
  return signal?.aborted === true
}

function nothingDone(): RunResult {
  return {
    mismatch: undefined,
    done: [],
    log: [],
    outcomes: new Map(),
    latenciesMs: [],
    elapsedMs: 0,
    interrupted: false,
  }
}

/** Processes start in parallel, but not all at once: the machine may have few cores. */
const connectedAtOnce = 4

async function connectAll(world: World, agents: readonly number[], callers: Map<number, Caller>): Promise<void> {
  for (let from = 0; from < agents.length; from += connectedAtOnce) {
    const some = agents.slice(from, from + connectedAtOnce)
    const settled = await Promise.allSettled(
      some.map(async (agent) => void callers.set(agent, await world.connect(agent))),
    )
    for (const result of settled) if (result.status === 'rejected') throw result.reason
  }
}

/** A run between its first connection and its end. */
interface Connected {
  callers: Map<number, Caller>
  first: Caller
  situation: Situation
  options: RunOptions
}

interface Progress extends RunResult {
  model: Model
  keyPrefix: string
  /** The first answer to each key, as it came. */
  answers: Map<string, string>
  lines: Map<number, string>
}

async function carryOut(history: readonly Action[], run: Connected): Promise<RunResult> {
  const { options, situation, first } = run
  const { system, concurrency, signal } = options
  const progress: Progress = {
    model: createModel(situation.start, concurrency === 1),
    keyPrefix: `simulate-${system.randomBytes(6).toString('hex')}-`,
    answers: new Map(),
    lines: new Map(),
    ...nothingDone(),
    mismatch: options.target.isolated ? otherStart(situation.start) : undefined,
  }
  const startedAt = system.elapsed()
  const queues = concurrency === 1 ? [history] : perAgent(history)
  const waiting = [...queues]
  const worker = async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift()) {
      for (const action of queue) {
        if (progress.mismatch !== undefined || signal?.aborted === true) return
        await step(action, progress, run)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, queues.length) }, worker))
  progress.elapsedMs = system.elapsed() - startedAt
  if (signal?.aborted !== true) progress.mismatch ??= await checkEnd(first, progress.model, situation, options)
  progress.interrupted = signal?.aborted === true
  progress.done.sort((one, other) => one.step - other.step)
  progress.log = progress.done.map(({ step: number }) => progress.lines.get(number) ?? '')
  return progress
}

/** The model must know the money there is at the start; on a new world it must be the seeded one. */
function otherStart(start: Start): Mismatch | undefined {
  const [expected, actual] = [seededStart, start].map(({ own, customer }) => JSON.stringify([own, customer]))
  if (expected === undefined || actual === undefined || expected === actual) return undefined
  return { action: undefined, what: 'A new sandbox does not have the seeded balances.', expected, actual, about: [] }
}

function perAgent(history: readonly Action[]): readonly Action[][] {
  return [...Map.groupBy(history, ({ agent }) => agent).values()]
}

async function step(action: Action, progress: Progress, run: Connected): Promise<void> {
  const { situation, options, callers } = run
  const { system } = options
  const prediction = progress.model.apply(action)
  // The action that made its subject was left out of this history.
  if (prediction === undefined) return
  const input = argumentsOf(action, { idOf: situation.reader.idOf, keyPrefix: progress.keyPrefix })
  const startedAt = system.elapsed()
  let answer: ToolAnswer
  try {
    const caller = callers.get(action.agent)
    if (caller === undefined) throw new Error(`Bug: agent ${action.agent} is not connected.`)
    answer = await caller.call(action.tool, input)
  } catch (error) {
    if (await isInterrupted(options)) return
    progress.done.push(action)
    progress.mismatch = { ...unanswered(error), action, expected: describeFacts(prediction.facts) }
    return
  }
  progress.latenciesMs.push(system.elapsed() - startedAt)
  const facts = situation.reader.read(action, answer)
  note(progress, action, prediction, facts)
  progress.mismatch ??= judge(progress, action, prediction, { facts, answer })
  options.onStep?.(progress.done.length)
}

async function checkEnd(...[caller, model, situation, options]: Parameters<typeof compareEnd>) {
  try {
    return await compareEnd(caller, model, situation, options)
  } catch (error) {
    return (await isInterrupted(options)) ? undefined : unanswered(error)
  }
}

function unanswered(error: unknown): Mismatch {
  const actual = `no answer: ${error instanceof Error ? error.message : String(error)}`
  return { action: undefined, what: '', expected: 'an answer', actual, about: [] }
}

function note(progress: Progress, action: Action, { replayed }: Prediction, facts: Facts): void {
  progress.done.push(action)
  const mark = replayed ? ' (again)' : ''
  progress.lines.set(action.step, `${action.step} ${describeAction(action)} -> ${describeFacts(facts)}${mark}`)
  const outcomes = progress.outcomes.get(action.tool) ?? new Map<string, number>()
  progress.outcomes.set(action.tool, outcomes)
  const outcome = replayed ? 'replayed' : outcomeOf(facts)
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
}

function judge(
  { answers }: Progress,
  action: Action,
  prediction: Prediction,
  { facts, answer }: { facts: Facts; answer: ToolAnswer },
): Mismatch | undefined {
  const [expected, actual] = [describeFacts(prediction.facts), describeFacts(facts)]
  if (!equalFacts(prediction.facts, facts)) return { action, what: '', expected, actual, about: [] }
  if (action.key === undefined) return undefined
  const [key, text] = [`${action.party} ${action.key}`, JSON.stringify(answer.content)]
  if (prediction.recorded) answers.set(key, text)
  // The parts that differ are none that the model looks at, such as an id, a timestamp or a support id.
  if (prediction.replayed && answers.get(key) !== text) {
    return { action, what: 'The same key did not bring the identical answer.', expected, actual, about: [] }
  }
  return undefined
}
