import { maskSecrets } from '../core/masking.ts'
import { type Action, argumentsOf, describeAction } from './action.ts'
import { describeFacts, equalFacts, type Facts, type Mismatch, maskFacts, outcomeOf } from './facts.ts'
import { countHits, faultRules, setFaults, withRepeats } from './faults.ts'
import { compareEnd } from './final-check.ts'
import { createModel, type Model, type Prediction } from './model/model.ts'
import type { Start } from './model/state.ts'
import type { ToolAnswer } from './reader.ts'
import { type Caller, inspect, type RunOptions, type Situation, seededStart, type World } from './world.ts'

export interface RunResult {
  mismatch: Mismatch | undefined
  /** The actions that were carried out, in the order of the history. */
  done: Action[]
  /** A line for each action in `done`. Every run of the same history has the same lines. */
  log: string[]
  /** How often each tool had each outcome. The outer key is the tool, the inner key the outcome. */
  outcomes: Map<string, Map<string, number>>
  /** How long each call took, in milliseconds. */
  latenciesMs: number[]
  durations: Durations
  interrupted: boolean
  /** The number of requests and tool calls that got an injected fault; undefined if the run injects none. */
  faults: number | undefined
}

/** How long each part of a run took, in milliseconds. */
interface Durations {
  /** The time to connect all agents and plan the history. */
  startMs: number
  /** The time from the first call of the history to the last answer. */
  callsMs: number
  /** The time to read all records again and compare them with the model. */
  finalCheckMs: number
}

/** A function that plans a history. The plan depends on the situation at the start, such as the available money. */
export type Plan = (situation: Situation) => readonly Action[]

/**
 * Carries out a history on a new or shared world. Compares every answer with the model, and at the end every record.
 */
export async function runHistory(plan: Plan, agents: readonly number[], options: RunOptions): Promise<RunResult> {
  const startedAtMs = options.system.elapsed()
  options.onStage?.('start', agents.length)
  const world = await options.target.open()
  const callers = new Map<number, Caller>()
  const interruption = closeWhenInterrupted(callers, options)
  try {
    return await connectAndCarryOut(world, callers, plan, agents, { ...options, startedAtMs })
  } catch (error) {
    const startMs = options.system.elapsed() - startedAtMs
    if (await isInterrupted(options)) return { ...emptyResult(), interrupted: true, durations: { ...noTime, startMs } }
    throw error
  } finally {
    interruption.end()
    await closeAll(callers)
    // Report the findings even if closing the world fails.
    await Promise.allSettled([world.close()])
  }
}

async function connectAndCarryOut(
  world: World,
  callers: Map<number, Caller>,
  plan: Plan,
  agents: readonly number[],
  options: RunOptions & { startedAtMs: number },
): Promise<RunResult> {
  // The first agent connects alone, because its connection creates the schema and the seeded records.
  for (const agent of agents.slice(0, 1)) callers.set(agent, await world.connect(agent))
  options.onStep?.(callers.size)
  await connectAll(world, agents.slice(1), callers, options)
  const [first] = callers.values()
  if (first === undefined) throw new Error('Bug: a run without agents.')
  const situation = await inspect(first, options.concurrency === 1)
  const history = plan(situation)
  const startMs = () => options.system.elapsed() - options.startedAtMs
  if (options.faults === undefined || world.instanceIdOf === undefined) {
    return await carryOut(history, { callers, first, situation, options, startMs: startMs() })
  }
  await setFaults(first, faultRules(agents, options.faults, world.instanceIdOf))
  for (const [agent, caller] of callers) callers.set(agent, withRepeats(caller))
  const run = { callers, first: withRepeats(first), situation, options, startMs: startMs() }
  const result = await carryOut(history, run)
  return { ...result, faults: await countHits(first).catch(() => undefined) }
}

async function closeAll(callers: Map<number, Caller>): Promise<void> {
  await Promise.allSettled([...callers.values()].map((caller) => caller.close()))
}

/** How long an interrupted run waits for pending answers before it closes its connections. */
const graceMs = 1_000

/** Closes all connections soon after an interruption. This also ends calls that a server never answers. */
function closeWhenInterrupted(callers: Map<number, Caller>, { system, signal }: RunOptions) {
  const over = new AbortController()
  const closeSoon = () => {
    system.sleep(graceMs, over.signal).then(
      () => closeAll(callers),
      () => {},
    )
  }
  signal?.addEventListener('abort', closeSoon, { once: true })
  const end = () => {
    signal?.removeEventListener('abort', closeSoon)
    over.abort()
  }
  return { end }
}

/**
 * Waits briefly, then returns whether the run was interrupted. Ctrl+C may end the servers before this process receives
 * the signal. A connection that breaks in this way is not an error.
 */
async function isInterrupted({ system, signal }: RunOptions): Promise<boolean> {
  await system.sleep(100)
  return signal?.aborted === true
}

const noTime: Durations = { startMs: 0, callsMs: 0, finalCheckMs: 0 }

/** Returns the result of a run that ended before its first action, with or without a mismatch. */
export function emptyResult(mismatch?: Mismatch): RunResult {
  return {
    mismatch,
    done: [],
    log: [],
    outcomes: new Map(),
    latenciesMs: [],
    durations: noTime,
    interrupted: false,
    faults: undefined,
  }
}

/**
 * The maximum number of server processes that start at the same time. It is low because the machine may have few cores.
 */
const maxParallelStarts = 4

async function connectAll(
  world: World,
  agents: readonly number[],
  callers: Map<number, Caller>,
  options: RunOptions,
): Promise<void> {
  for (let from = 0; from < agents.length; from += maxParallelStarts) {
    const batch = agents.slice(from, from + maxParallelStarts)
    const settled = await Promise.allSettled(
      batch.map(async (agent) => void callers.set(agent, await world.connect(agent))),
    )
    for (const result of settled) if (result.status === 'rejected') throw result.reason
    options.onStep?.(callers.size)
    if (options.signal?.aborted === true) throw new Error('interrupted')
  }
}

/** A run whose agents are connected. */
interface Connected {
  callers: Map<number, Caller>
  first: Caller
  situation: Situation
  options: RunOptions
  startMs: number
}

interface Progress extends RunResult {
  model: Model
  keyPrefix: string
  /** The first answer for each idempotency key, as JSON. */
  answers: Map<string, string>
  lines: Map<number, string>
}

async function carryOut(history: readonly Action[], run: Connected): Promise<RunResult> {
  const { options, situation, first, startMs } = run
  const { system, concurrency, signal } = options
  const progress: Progress = {
    model: createModel(situation.start, concurrency === 1),
    keyPrefix: `simulate-${system.randomBytes(6).toString('hex')}-`,
    answers: new Map(),
    lines: new Map(),
    ...emptyResult(options.target.isolated ? wrongStart(situation.start) : undefined),
  }
  const startedAt = system.elapsed()
  options.onStage?.('calls', history.length)
  const queues = concurrency === 1 ? [history] : groupByAgent(history)
  const waiting = [...queues]
  const worker = async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift()) {
      for (const action of queue) {
        if (progress.mismatch !== undefined || signal?.aborted === true) return
        await step(action, progress, run).catch((error: unknown) => recordUnreadable(progress, action, error))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, queues.length) }, worker))
  const callsMs = system.elapsed() - startedAt
  options.onStage?.('final check', 1)
  if (signal?.aborted !== true) progress.mismatch ??= await checkEnd(first, progress.model, situation, options)
  progress.durations = { startMs, callsMs, finalCheckMs: system.elapsed() - startedAt - callsMs }
  progress.interrupted = signal?.aborted === true
  progress.done.sort((one, other) => one.step - other.step)
  progress.log = progress.done.map(({ step: number }) => progress.lines.get(number) ?? '')
  return progress
}

/** Returns a mismatch if a new world does not have the seeded balances. */
function wrongStart(start: Start): Mismatch | undefined {
  const [expected, actual] = [seededStart, start].map(({ own, customer }) => JSON.stringify([own, customer]))
  if (expected === undefined || actual === undefined || expected === actual) return undefined
  return { action: undefined, what: 'A new sandbox does not have the seeded balances.', expected, actual, about: [] }
}

function groupByAgent(history: readonly Action[]): readonly Action[][] {
  return [...Map.groupBy(history, ({ agent }) => agent).values()]
}

async function step(action: Action, progress: Progress, run: Connected): Promise<void> {
  const { situation, options, callers } = run
  const { system } = options
  const prediction = progress.model.apply(action)
  // The action's subject does not exist, because the action that creates it was left out of this history.
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
    progress.mismatch = { ...unansweredMismatch(error), action, expected: describeFacts(prediction.facts) }
    return
  }
  progress.latenciesMs.push(system.elapsed() - startedAt)
  const read = situation.reader.read(action, answer)
  const isAsPredicted = equalFacts(prediction.facts, read)
  const facts = isAsPredicted ? read : maskFacts(read)
  note(progress, action, prediction, facts)
  progress.mismatch ??= judge(progress, action, prediction, { facts, isAsPredicted, answer })
  options.onStep?.(progress.done.length)
}

/** Records a mismatch for an answer that could not be read, for example because its attributes are missing. */
function recordUnreadable(progress: Progress, action: Action, error: unknown): void {
  progress.done.push(action)
  const problem = 'The answer could not be compared.'
  progress.mismatch ??= { ...unansweredMismatch(error), action, what: problem, actual: maskSecrets(String(error)) }
}

async function checkEnd(...[caller, model, situation, options]: Parameters<typeof compareEnd>) {
  try {
    return await compareEnd(caller, model, situation, options)
  } catch (error) {
    return (await isInterrupted(options)) ? undefined : unansweredMismatch(error)
  }
}

/** Returns the mismatch for a call without an answer. */
export function unansweredMismatch(error: unknown): Mismatch {
  const actual = maskSecrets(`no answer: ${error instanceof Error ? error.message : String(error)}`)
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
  { facts, isAsPredicted, answer }: { facts: Facts; isAsPredicted: boolean; answer: ToolAnswer },
): Mismatch | undefined {
  const [expected, actual] = [describeFacts(prediction.facts), describeFacts(facts)]
  if (!isAsPredicted) return { action, what: '', expected, actual, about: [] }
  if (action.key === undefined) return undefined
  const [key, text] = [`${action.party} ${action.key}`, JSON.stringify(answer.content)]
  if (prediction.recorded) answers.set(key, text)
  // The model does not predict ids and timestamps, but a replay must return the same ids and timestamps as the first
  // answer.
  if (prediction.replayed && answers.get(key) !== text) {
    return { action, what: 'A repeated call did not return the identical answer.', expected, actual, about: [] }
  }
  return undefined
}
