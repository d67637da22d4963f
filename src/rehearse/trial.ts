import { inProcessFetch } from '../core/in-process-fetch.ts'
import { deadline, parseTimestamp } from '../core/system.ts'
import { findWorld } from '../service/store/world.ts'
import { type ParsedFile, parsedFile } from '../worlds/parse-file.ts'
import { type World, worldSchema } from '../worlds/schema.ts'
import { type Agent, type AgentInput, type Notes, ProviderError, type Turn } from './agent.ts'
import { askPath } from './agent-request.ts'
import { TableReader } from './effects/tables.ts'
import { cardsAt, finalState, readNames } from './final-state.ts'
import { Gateway } from './gateway.ts'
import { judge } from './judge.ts'
import { drawnParts, drawScenario, worldRefusal } from './load-scenarios.ts'
import { maskText, secretsIn } from './mask.ts'
import { Person } from './person.ts'
import { lastQuestion, Questions } from './questions.ts'
import type { Trial } from './results.ts'
import type { Scenario } from './scenario.ts'
import type { OpenStage, Stage } from './stage.ts'
import { type TrialSystem, trialSeed, trialSystem } from './trial-system.ts'
import { TrialTimeline } from './trial-timeline.ts'

export interface TrialOptions {
  openStage: OpenStage
  /** The seed of the rehearsal, from which each trial's own seed is made. */
  seed: string
  /** The number of the trial in its scenario, counted from 1. */
  number: number
  /** The signal that aborts the trial. An aborted trial has no result. */
  signal: AbortSignal
  /** Makes an empty folder for an agent. */
  openFolder(): Promise<{ path: string; remove(): Promise<void> }>
  /** Returns milliseconds by the real clock, for measuring how long the trial takes. */
  elapsed(): number
  bounds?: Bounds
  /** Whether clutter, such as an abandoned cart, fails a trial. */
  isStrict?: boolean
}

/**
 * The limits of the agent in a trial: how many milliseconds it may take by the real clock, and how many calls it may
 * make.
 */
export interface Bounds {
  ms: number
  calls: number
}

export const defaultBounds: Bounds = { ms: 300_000, calls: 200 }

/** How many milliseconds an agent may take to stop after its trial. A program needs longer, to end its processes. */
const maxStopMs = { scripted: 500, other: 5_000 }

/** The maximum duration of a `sleep` in the sandbox, in milliseconds by the real clock. */
const longestSleepMs = { scripted: 20, other: 5_000 }

/** Carries out one trial of a scenario in a new world, and judges the trial. */
export async function runTrial(template: Scenario, agent: Agent, options: TrialOptions): Promise<Trial> {
  const beganAtMs = options.elapsed()
  const seed = trialSeed(options.seed, template.id, options.number)
  const scenario = drawScenario(template, seed)
  const world = worldOf(scenario)
  const system = trialSystem({
    seed,
    startsAtMs: parseTimestamp(scenario.world.clock),
    longestSleepMs: agent.isScripted ? longestSleepMs.scripted : longestSleepMs.other,
  })
  const stage = await options.openStage({ world, confirm: scenario.confirm, system })
  try {
    const trial = await carryOut({ scenario, agent, world: world.value, stage, system, seed }, options)
    const asked = template.draw === undefined ? {} : { asked: drawnParts(template, seed) }
    return { number: options.number, ...asked, ...trial, durationMs: Math.round(options.elapsed() - beganAtMs) }
  } finally {
    await stage.close()
  }
}

/** Returns the world in which each trial of a scenario begins. @throws WorldFileError if the world has a mistake */
export function worldOf(scenario: Scenario): ParsedFile<World> {
  const { id, world, shops } = scenario
  const input = { ...world, rehearsal: true, ...(shops === undefined ? {} : { shops }) }
  const parsed = parsedFile(input, `${id}: world`, worldSchema)
  return { ...parsed, refusal: worldRefusal(scenario) ?? parsed.refusal }
}

interface TrialSetup {
  scenario: Scenario
  agent: Agent
  world: World
  stage: Stage
  system: TrialSystem
  seed: string
}

async function carryOut(setup: TrialSetup, options: TrialOptions): Promise<Omit<Trial, 'number' | 'durationMs'>> {
  const { scenario, world, stage, system } = setup
  const { store } = stage
  await stage.service.faults.load(scenario.faults)
  const partyId = (await store.read(findWorld))?.firstPartyId ?? ''
  const reader = new TableReader(store)
  const beginning = await reader.read()
  const { tables: before } = beginning
  const names = await readNames(store, before, world)
  const person = new Person({ stage, system, person: scenario.person })
  await person.findDecisions()
  const recorded = new TrialTimeline({ store, system, person, names, partyId, reader, beginning })
  const ending = new AbortController()
  const { calls } = options.bounds ?? defaultBounds
  const questions = new Questions(scenario)
  const gateway = new Gateway({
    questions,
    timeline: recorded,
    serve: (request) => stage.fetch(request),
    maxCalls: calls,
    onTooMany: () =>
      ending.abort(new BoundError('too_many_calls', `The agent made more than ${calls} calls, the limit of a trial.`)),
  })
  const notes: Notes = {}
  const { ended, trouble, answer } = await runAgent(setup, {
    ...options,
    gateway,
    ending,
    questions,
    timeline: recorded,
    notes,
  })
  await gateway.close()
  options.signal.throwIfAborted()
  const cards = cardsAt(await reader.read(), before, names)
  await recorded.passTo(recorded.nowMs + 1_000 * scenario.afterwards)
  const secretsMentioned = [...secretsIn(answer).map((kind) => `${kind} in the answer`), ...gateway.disclosedSecrets]
  const state = finalState((await reader.read()).tables, {
    before,
    names,
    cards,
    answer,
    secretsMentioned,
    questions: questions.asked,
  })
  const { entries: timeline, money, effects } = recorded
  const { read } = gateway
  const record = { ended, answer: maskText(answer), calls: gateway.calls, timeline, money, state, effects, read }
  const judged = judge(scenario, record, { isStrict: options.isStrict === true })
  const { isScripted, model } = setup.agent
  const mayDoNothing = isScripted || model !== undefined || ended === 'failed'
  const isUntouched = gateway.calls === 0 && !judged.passed && !mayDoNothing
  const reasons = isUntouched ? [trouble, neverCalled] : [trouble]
  const usage = notes.usage === undefined ? {} : { usage: notes.usage }
  return { ...record, ...judged, ...usage, trouble: reasons.filter((reason) => reason !== null).join(' ') || null }
}

/** The advice for a failed trial in which the agent made no call. Usually, the agent's host had no tools. */
export const neverCalled =
  'The agent never called a tool. Check that its host was given MCP_CONFIG, or MCP_URL and MCP_KEY, and that it waits for the MCP server before its first turn (docs/rehearse.md#an-agent-that-never-calls-a-tool).'

interface AgentRun extends TrialOptions {
  gateway: Gateway
  ending: AbortController
  questions: Questions
  timeline: TrialTimeline
  notes: Notes
}

type Ending = Pick<Trial, 'ended' | 'trouble' | 'answer'>

/** Runs the agent within the bounds of a trial. */
async function runAgent(setup: TrialSetup, agentRun: AgentRun): Promise<Ending> {
  const { agent } = setup
  const { gateway, ending, signal, openFolder, bounds = defaultBounds } = agentRun
  const over = ending.signal
  // AbortSignal.any() would leak one signal per trial, because the outer signal outlives all trials.
  const interrupt = () => ending.abort(signal.reason)
  signal.addEventListener('abort', interrupt, { once: true })
  if (signal.aborted) interrupt()
  const folder = agent.isScripted ? undefined : await openFolder()
  let timer: ReturnType<typeof deadline> | undefined
  try {
    if (!agent.isScripted) await setup.stage.listen(gateway.answer)
    // If a person runs the agent, there is no time limit.
    if (agent.byPerson !== true)
      timer = deadline(bounds.ms, () =>
        ending.abort(new BoundError('timed_out', `The agent did not answer within ${bounds.ms / 1000} s.`)),
      )
    const run = converse(agent, inputOf(setup, agentRun, folder?.path ?? '', over), agentRun, over)
    const answer = await Promise.race([
      run,
      rejectOnceOver(over, run, agent.isScripted ? maxStopMs.scripted : maxStopMs.other),
    ])
    over.throwIfAborted()
    return { ended: 'answered', trouble: null, answer: boundedAnswer(answer) }
  } catch (error) {
    // If the model's provider kept failing until the time ran out, the trial ends because of the provider's failure,
    // not because of the time limit.
    return endingBy(over.aborted && !(error instanceof ProviderError) ? over.reason : error)
  } finally {
    timer?.clear()
    signal.removeEventListener('abort', interrupt)
    await folder?.remove()
  }
}

/** The maximum number of times in a trial that the person replies to a question at the end of an answer. */
const maxReplies = 5

/**
 * Runs the agent. As long as its answer ends with a question that the person can answer, runs it again with the
 * person's reply.
 */
async function converse(agent: Agent, input: AgentInput, agentRun: AgentRun, over: AbortSignal): Promise<string> {
  const { questions, timeline } = agentRun
  let [next, answer] = [input, await agent.run(input, over)]
  for (let replies = 0; replies < maxReplies && !over.aborted; replies++) {
    const question = lastQuestion(answer)
    if (question === undefined) return answer
    const { kind, reply } = questions.ask(question)
    if (kind !== 'known') return answer
    await timeline.step(async () => ({
      step: {
        kind: 'person',
        what: 'answers a question',
        sent: { question: maskText(question) },
        outcome: 'ok',
        answer: reply,
      },
      result: undefined,
    }))
    const turns: Turn[] = [...next.turns, { from: 'agent', text: answer }, { from: 'person', text: reply }]
    next = { ...next, task: reply, turns }
    answer = await agent.run(next, over)
  }
  return answer
}

/**
 * Waits until the trial is over. Then rejects as soon as the agent has stopped, or after `ms` milliseconds at the
 * latest.
 */
async function rejectOnceOver(over: AbortSignal, run: Promise<string>, ms: number): Promise<never> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (over.aborted) resolve()
  over.addEventListener('abort', () => resolve(), { once: true })
  await promise
  const late = Promise.withResolvers<void>()
  const timer = deadline(ms, late.resolve)
  await Promise.race([run.then(() => {}).catch(() => {}), late.promise])
  timer.clear()
  throw over.reason
}

function inputOf(
  { scenario, stage, seed }: TrialSetup,
  { gateway, notes }: AgentRun,
  folder: string,
  ended: AbortSignal,
): AgentInput {
  const url = stage.url()
  return {
    task: scenario.task,
    goal: scenario.goal,
    ...{ url, mcpUrl: `${url}/mcp`, shopsUrl: `${url}/shops`, key: stage.agentKey },
    ...{ askUrl: `${url}${askPath}`, turns: [{ from: 'person', text: scenario.task }] },
    fetch: inProcessFetch({ serve: gateway.answer, base: url, ended }),
    notes,
    folder,
    seed,
  }
}

/** The maximum number of characters in a recorded answer. Only the end of a longer answer is recorded. */
const maxAnswerLength = 20_000

function boundedAnswer(answer: string): string {
  const text = answer.trim()
  return text.length <= maxAnswerLength ? text : `…${text.slice(-maxAnswerLength)}`
}

function endingBy(reason: unknown): Ending {
  if (reason instanceof BoundError) return { ended: reason.ended, trouble: reason.message, answer: '' }
  const reasonText = reason instanceof Error ? reason.message : String(reason)
  const ended = reason instanceof ProviderError ? 'provider_failed' : 'failed'
  return { ended, trouble: maskText(reasonText), answer: '' }
}

/** The error that ends a trial when the agent exceeds a limit. */
class BoundError extends Error {
  override readonly name = 'BoundError'
  readonly ended: Trial['ended']

  constructor(ended: Trial['ended'], message: string) {
    super(message)
    this.ended = ended
  }
}
