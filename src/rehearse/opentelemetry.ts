import { sha256 } from '../core/system.ts'
import { reasons } from './report/words.ts'
import { withoutSecrets } from './report-text.ts'
import type { Entry, Results, ScenarioResults, Trial } from './results.ts'
import { isJudged } from './trial-record.ts'

/**
 * Returns the trials as one line of OTLP JSON, which a collector's file receiver can read. Each trial becomes one
 * trace. The traces follow OpenTelemetry's conventions for generative AI
 * (github.com/open-telemetry/semantic-conventions-genai). Times come from the sandbox clock, and ids are derived from
 * the agent, the seed and the trial, so the same trials always give the same file.
 */
export function openTelemetryJson(results: Results): string {
  // Spans are serialized trial by trial, because all span objects of a large rehearsal together would take hundreds of
  // megabytes.
  const spans = results.scenarios.flatMap(({ scenario, trials }) =>
    trials.flatMap((trial) => traceOf(results, scenario, trial).map((span) => JSON.stringify(span))),
  )
  const resource = JSON.stringify({ attributes: attributes({ 'service.name': 'payments-mcp' }) })
  const scope = JSON.stringify({ name: 'payments-mcp.rehearse' })
  return `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(',')}]}]}]}\n`
}

const spanKind = { internal: 1, client: 3 } as const
const statusCode = { ok: 1, error: 2 } as const

type Scenario = ScenarioResults['scenario']

/**
 * Makes the spans of a trace: a span for the agent, and a child span for each call and each page. The person's acts,
 * the effects of passing time, and the judgements become events of the agent's span.
 */
function traceOf({ agent, seed }: Results, scenario: Scenario, trial: Trial) {
  const ids = { agent, seed, scenario: scenario.id, trial: trial.number }
  const traceId = idOf({ ...ids, of: 'trace' }, 16)
  const rootId = idOf({ ...ids, of: 'agent' }, 8)
  const steps = trial.timeline.map((entry, at) => ({ entry, number: at + 1 }))
  const callSteps = steps.filter(({ entry }) => entry.kind === 'call' || entry.kind === 'page')
  const startMs = trial.money[0]?.atMs ?? steps[0]?.entry.atMs ?? 0
  const endMs = Math.max(startMs, ...callSteps.map(({ entry }) => entry.atMs))
  const end = nanos(endMs, steps.length + 1)
  const eventSteps = steps.filter(({ entry }) => entry.kind === 'person' || entry.kind === 'time')
  const root = {
    ...{ traceId, spanId: rootId, name: `invoke_agent ${masked(agent)}`, kind: spanKind.internal },
    ...{ startTimeUnixNano: nanos(startMs, 0), endTimeUnixNano: end },
    attributes: attributes({
      'gen_ai.operation.name': 'invoke_agent',
      // The conventions require the name of the model's provider. The sandbox does not know it, so this package's name
      // is given instead.
      'gen_ai.provider.name': 'payments-mcp',
      'gen_ai.agent.name': agent,
      'gen_ai.conversation.id': `${scenario.id}-${trial.number}`,
      'gen_ai.input.messages': messages('user', trial.asked?.task ?? scenario.task),
      'gen_ai.output.messages': messages('assistant', trial.answer, { finish_reason: finishReasons[trial.ended] }),
      ...(trial.ended === 'answered' ? {} : { 'error.type': trial.ended }),
      ...(trial.usage === undefined
        ? {}
        : {
            'gen_ai.usage.input_tokens': trial.usage.inputTokens,
            'gen_ai.usage.output_tokens': trial.usage.outputTokens,
          }),
      'payments_mcp.rehearsal.scenario': scenario.id,
      'payments_mcp.rehearsal.trial': trial.number,
      'payments_mcp.rehearsal.seed': seed,
    }),
    events: [...eventSteps.map(({ entry, number }) => eventOf(entry, number)), ...evaluations(trial, end)],
    status: statusOf(trial.ended === 'answered' ? null : trial.ended),
  }
  return [
    root,
    ...callSteps.map(({ entry, number }) => ({
      ...{ traceId, spanId: idOf({ ...ids, of: number }, 8), parentSpanId: rootId },
      ...stepSpan(entry, number),
    })),
  ]
}

const finishReasons = {
  answered: 'stop',
  timed_out: 'error',
  too_many_calls: 'length',
  failed: 'error',
  provider_failed: 'error',
} as const

/** Makes the span of a tool call, or of an HTTP request to a page or the REST API. */
function stepSpan(entry: Entry, number: number) {
  const { what, sent, answer, atMs } = entry
  const isGood = entry.outcome === 'ok' || /^[23]\d\d$/.test(entry.outcome)
  const [, method, path] = /^([A-Z]+) (\/.*)$/.exec(what) ?? []
  const content = {
    'gen_ai.tool.call.arguments': JSON.stringify(sent ?? null),
    'gen_ai.tool.call.result': answer,
  }
  const about =
    method === undefined
      ? {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': what,
          'gen_ai.tool.type': 'function',
          ...content,
        }
      : { 'http.request.method': method, 'url.path': path ?? '' }
  return {
    name: masked(method === undefined ? `execute_tool ${what}` : what),
    kind: method === undefined ? spanKind.internal : spanKind.client,
    ...{ startTimeUnixNano: nanos(atMs, number), endTimeUnixNano: nanos(atMs, number) },
    attributes: attributes({
      ...about,
      ...(isGood ? {} : { 'error.type': entry.outcome.replaceAll(' ', '_') }),
      ...stepFacts(entry, number),
    }),
    status: statusOf(isGood ? null : entry.outcome),
  }
}

function eventOf(entry: Entry, number: number) {
  const { kind, what, atMs } = entry
  return {
    timeUnixNano: nanos(atMs, number),
    name: `payments_mcp.rehearsal.${kind}`,
    attributes: attributes({ 'payments_mcp.rehearsal.what': what, ...stepFacts(entry, number) }),
  }
}

function stepFacts({ moves, fault }: Entry, number: number) {
  return {
    'payments_mcp.rehearsal.step': number,
    ...(moves.length === 0
      ? {}
      : { 'payments_mcp.rehearsal.moves': moves.map(({ says, cents }) => `${cents} cents ${says}`).join('; ') }),
    ...(fault === null ? {} : { 'payments_mcp.rehearsal.fault': fault }),
  }
}

function evaluations(trial: Trial, timeUnixNano: string) {
  if (!isJudged(trial)) return []
  const reasonLines = reasons(trial).join('\n')
  const results = [
    ['did_right', trial.didRight ? 'pass' : 'fail'],
    ['told_the_truth', ({ yes: 'pass', no: 'fail', unclear: 'unclear' } as const)[trial.toldTruth]],
  ] as const
  return results.map(([name, label]) => ({
    timeUnixNano,
    name: 'gen_ai.evaluation.result',
    attributes: attributes({
      'gen_ai.evaluation.name': name,
      // There is no score if it is unclear whether the answer is true.
      ...(label === 'unclear' ? {} : { 'gen_ai.evaluation.score.value': new Score(label === 'pass' ? 1 : 0) }),
      'gen_ai.evaluation.score.label': label,
      ...(label === 'pass' || reasonLines === '' ? {} : { 'gen_ai.evaluation.explanation': reasonLines }),
    }),
  }))
}

/** A number that is always encoded as a double, whether or not it is an integer. */
class Score {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

function messages(role: 'user' | 'assistant', content: string, more = {}): string {
  return JSON.stringify([{ role, parts: [{ type: 'text', content }], ...more }])
}

function attributes(values: Record<string, string | number | Score>) {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }))
}

/** Encodes an attribute's value. In OTLP JSON, 64-bit integers are strings. */
function anyValue(value: string | number | Score) {
  if (value instanceof Score) return { doubleValue: value.value }
  return typeof value === 'number' ? { intValue: String(value) } : { stringValue: masked(value) }
}

const statusOf = (trouble: string | null) =>
  trouble === null ? { code: statusCode.ok } : { code: statusCode.error, message: masked(trouble) }

const masked = (text: string) => withoutSecrets(text).toWellFormed()

/** Converts milliseconds to nanoseconds, and adds the step's number, so that steps in one millisecond stay in order. */
const nanos = (atMs: number, step: number) => String(BigInt(Math.round(atMs)) * 1_000_000n + BigInt(step))

const idOf = (identity: object, bytes: number) => sha256(JSON.stringify(identity)).slice(0, 2 * bytes)
