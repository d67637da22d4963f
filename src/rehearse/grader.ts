import { z } from 'zod'
import { parseJson } from '../core/json.ts'
import { deadline, type System } from '../core/system.ts'
import { ProcessGroups } from './agents/process-group.ts'
import { type Claim, claimsOf } from './answer/claims.ts'
import { maskText } from './mask.ts'
import type { GraderOpinion, Results, Trial } from './results.ts'
import type { Scenario } from './scenario.ts'

export interface GraderOptions {
  /** The environment variables of the grader command, such as the API key of its model. */
  env: Readonly<Record<string, string | undefined>>
  system: Pick<System, 'sleep'>
  signal: AbortSignal
}

/** The JSON that a grader reads on its standard input. */
export interface Question extends Pick<Trial, 'effects'> {
  task: string
  answer: string
  claims: Claim[]
}

/** The maximum number of claims in a reply, and the maximum lengths, in characters, of a claim and of an error text. */
const limits = { claims: 200, text: 500, trouble: 300 }
const replyTimeoutMs = 120_000

const Reply = z.object({
  claims: z.array(z.object({ text: z.string(), founded: z.boolean() })).max(limits.claims),
  outcome: z.enum(['done', 'not_done', 'waiting', 'unclear']),
})

/**
 * Asks a grader command about each trial's answer, one after another, and adds the grader's opinion to the trial. The
 * trial's verdicts stay the same.
 */
export async function gradeResults(results: Results, command: string, options: GraderOptions): Promise<Results> {
  const scenarios: Results['scenarios'] = []
  for (const { scenario, trials } of results.scenarios) {
    const gradedTrials: Trial[] = []
    for (const trial of trials) gradedTrials.push(await withOpinion(scenario, trial, command, options))
    scenarios.push({ scenario, trials: gradedTrials })
  }
  const opinions = scenarios.flatMap(({ trials }) => trials.flatMap(({ grader }) => grader ?? []))
  const agreed = opinions.filter((opinion) => 'agrees' in opinion && opinion.agrees).length
  return { ...results, scenarios, summary: { ...results.summary, grader: { agreed, of: opinions.length } } }
}

type ScenarioParts = Pick<Scenario, 'task' | 'answer' | 'expect'>

async function withOpinion(
  scenario: ScenarioParts,
  trial: Trial,
  command: string,
  options: GraderOptions,
): Promise<Trial> {
  if (trial.ended !== 'answered' || options.signal.aborted) return trial
  const { reading, claims } = claimsOf({ ...scenario, ...trial.asked }, trial)
  const question: Question = {
    task: trial.asked?.task ?? scenario.task,
    answer: trial.answer,
    effects: trial.effects,
    claims,
  }
  try {
    const reply = await replyTo(question, command, options)
    // The grader can state only one outcome. If the answer claims several outcomes, or rightly claims none, any outcome
    // that the grader states counts as agreement.
    const acceptsAny = reading === 'mixed' || (reading === 'unclear' && trial.toldTruth === 'yes')
    const isSameOutcome = reading === reply.outcome || acceptsAny
    const isSameTruth = reply.claims.every(({ founded }) => founded) === (trial.toldTruth === 'yes')
    return { ...trial, grader: { ...reply, agrees: isSameOutcome && isSameTruth } }
  } catch (error) {
    if (options.signal.aborted) return trial
    return { ...trial, grader: { trouble: errorText((error as Error).message) } }
  }
}

const errorText = (text: string): string => maskText(text).replace(/\s+/g, ' ').slice(0, limits.trouble)

type Reply = Pick<Extract<GraderOpinion, { agrees: boolean }>, 'claims' | 'outcome'>

/** Runs the grader on one question. @throws Error if the grader failed, took too long or did not print a valid reply */
async function replyTo(question: Question, command: string, { env, system, signal }: GraderOptions): Promise<Reply> {
  const ending = new AbortController()
  const interrupt = () => ending.abort(signal.reason)
  signal.addEventListener('abort', interrupt, { once: true })
  const timeout = new Error(`The grader did not reply within ${replyTimeoutMs / 1000} s.`)
  const timer = deadline(replyTimeoutMs, () => ending.abort(timeout))
  try {
    const input = JSON.stringify(question)
    const { exitCode, stdout, stderr } = await new ProcessGroups(system).run(command, { env, input }, ending.signal)
    if (exitCode !== 0) throw new Error(`The grader ended with exit code ${exitCode}. ${stderr.slice(-limits.trouble)}`)
    return readReply(stdout)
  } finally {
    timer.clear()
    signal.removeEventListener('abort', interrupt)
  }
}

/** Reads a grader's output. @throws Error if the output is not a valid reply */
export function readReply(printed: string): Reply {
  const { data, success } = Reply.safeParse(parseJson(printed))
  if (!success) {
    throw new Error(
      'The grader printed a reply that is not of the form {"claims": [{"text": "…", "founded": true}], "outcome": "done", "not_done", "waiting" or "unclear"}.',
    )
  }
  const claims = data.claims.map(({ text, founded }) => ({ text: maskText(text).slice(0, limits.text), founded }))
  return { claims, outcome: data.outcome }
}
