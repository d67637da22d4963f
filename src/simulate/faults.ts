import { ConfigError } from '../config/load.ts'
import type { Tool } from './action.ts'
import { type Random, randomFrom } from './random.ts'
import type { ToolAnswer } from './reader.ts'
import type { Caller } from './world.ts'

/** A fault rule in the form that `set_sandbox_fault` accepts (docs/sandbox.md#faults). */
interface Rule {
  id: string
  path: string
  operation?: Tool
  when: { every: number; instanceId: string }
  fault: string
  code?: string
  afterMs?: number
}

/**
 * The paths of the API requests that get faults. Clients repeat each of these requests after a fault, because it is a
 * read, or a change with an idempotency key. No two of the paths match the same request. A rule never hits two matching
 * requests in a row, so it hits a request but not its repeat.
 */
const paths = [
  '/agent-cards**',
  '/card-transactions**',
  '/wallets**',
  '/simulations/agent-cards/**',
  '/simulations/card-transactions/**',
] as const

const faults: readonly Pick<Rule, 'fault' | 'code' | 'afterMs'>[] = [
  { fault: 'effect_then_lost' },
  { fault: 'effect_then_503' },
  { fault: 'reset' },
  { fault: 'error', code: 'service_unavailable' },
  { fault: 'error', code: 'rate_limited' },
  { fault: 'slow', afterMs: 1 },
]

/** The tools whose calls get faults in the MCP server, so that the simulated agent itself has to repeat these calls. */
const tools = [
  'issue_agent_card',
  'freeze_agent_card',
  'simulate_card_authorization',
  'simulate_card_capture',
  'simulate_card_refund',
] as const
const callFaults = [{ fault: 'effect_then_503' }, { fault: 'error', code: 'service_unavailable' }] as const

/**
 * The maximum number of rules. Every request is checked against all rules, so more rules would slow down the
 * simulation.
 */
const maxRules = 12

/**
 * Creates fault rules, each for the requests of one agent. With the same seed, an agent therefore gets the same faults,
 * whatever the other agents do.
 */
export function faultRules(agents: readonly number[], seed: string, instanceIdOf: (agent: number) => string): Rule[] {
  const perAgent = Math.max(1, Math.floor(maxRules / agents.length))
  return agents.slice(0, maxRules).flatMap((agent) => {
    const random = randomFrom(`${seed} faults ${agent}`)
    const when = () => ({ every: random.pick([2, 5, 8, 13, 21, 34]), instanceId: instanceIdOf(agent) })
    const callRules = perAgent > 1 ? [{ path: '/mcp', operation: random.pick(tools), ...random.pick(callFaults) }] : []
    const apiRules = sampleOf(paths, perAgent - callRules.length, random).map((path) => ({
      path,
      ...random.pick(faults),
    }))
    return [...apiRules, ...callRules].map((rule, index) => ({
      id: `agent-${agent}-${index + 1}`,
      ...rule,
      when: when(),
    }))
  })
}

function sampleOf<T>(all: readonly T[], count: number, random: Random): T[] {
  const left = [...all]
  while (left.length > count) left.splice(random.int(0, left.length - 1), 1)
  return left
}

/** Adds fault rules to the sandbox. @throws ConfigError if the sandbox refuses a rule */
export async function setFaults(caller: Caller, rules: readonly Rule[]): Promise<void> {
  for (const rule of rules) {
    const { isError, content } = await caller.call('set_sandbox_fault', { ...rule })
    if (!isError) continue
    throw new ConfigError(
      `The sandbox refused a fault rule: ${JSON.stringify(content)}. Use --without-faults to simulate without them.`,
    )
  }
}

/** Returns the number of requests and tool calls that got a fault. */
export async function countHits(caller: Caller): Promise<number> {
  const { content } = await caller.call('list_sandbox_faults', {})
  const { data = [] } = content as { data?: { attributes?: { hits?: number | null } }[] }
  return data.reduce((sum, { attributes }) => sum + (attributes?.hits ?? 0), 0)
}

/** The maximum number of repeats of one call. The fault rules cannot make more than this many repeats fail in a row. */
const maxRepeats = 3
/** Error codes that only injected faults cause. */
const transientCodes: ReadonlySet<string> = new Set(['service_unavailable', 'rate_limited'])

/** Wraps a caller. After a transient error, the returned caller repeats the call with the same idempotency key. */
export function withRepeats({ call, ...caller }: Caller): Caller {
  const untilAnswered: Caller['call'] = async (tool, input) => {
    let [answer, sentInput] = [await call(tool, input), input]
    for (let repeats = 0; repeats < maxRepeats && isTransient(answer); repeats++) {
      if (answer.repeatKey !== undefined) sentInput = { ...sentInput, idempotencyKey: answer.repeatKey }
      answer = await call(tool, sentInput)
    }
    return answer
  }
  return { ...caller, call: untilAnswered }
}

function isTransient({ isError, content }: ToolAnswer): boolean {
  const { error } = (content ?? {}) as { error?: { code?: string } }
  return isError && transientCodes.has(error?.code ?? '')
}
