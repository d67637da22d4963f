import type { Action } from './action.ts'
import type { AgentState, Choice, PlanContext, PlanOptions } from './choices/agent.ts'
import { chooseAction, isDone } from './choices/choices.ts'
import { clockStepSeconds } from './facts.ts'
import { createModel } from './model/model.ts'
import { type Random, randomFrom } from './random.ts'

/**
 * Plans all actions of a run (its history) before the first call. The plan depends only on the options and on the
 * model. No action depends on an actual answer, so a failing history can be shortened later.
 */
export function planHistory(options: PlanOptions): Action[] {
  const model = createModel(options.start, options.ordered)
  const history: Action[] = []
  const nextName = createNames()
  const random = randomFrom(options.seed)
  const planContext = { model, nextName, options, budget: budgets(options) }
  const agents = Array.from({ length: options.agents }, (_, index) => newAgent(index + 1))
  const addAction = (agent: AgentState, choice: Choice) => {
    const action: Action = { step: history.length + 1, agent: agent.number, ...choice }
    model.apply(action)
    history.push(action)
    return action
  }
  if (options.ordered) takeTurns(agents, random, planContext, addAction)
  else {
    for (const agent of agents) {
      const agentRandom = randomFrom(`${options.seed} agent ${agent.number}`)
      while (!isDone(agent, options.purchases))
        remember(agent, addAction(agent, chooseAction(agent, agentRandom, planContext, [agent])))
    }
  }
  return history
}

/** Returns the average amount that each party can spend on a purchase without running out of money. */
function budgets({ agents, purchases, ordered, start }: PlanOptions): PlanContext['budget'] {
  // If agents take turns, the money lasts for about three times as many purchases, because refunds and reversals return
  // some of it.
  const share = (available = 0) => Math.max(1, Math.floor((available * (ordered ? 3 : 1)) / (agents * purchases)))
  return { own: share(start.own.available), customer: share(start.customer?.available) }
}

type AddAction = (agent: AgentState, choice: Choice) => Action

/**
 * The maximum number of calls between two clock jumps. The model ignores real time, so no card may expire between two
 * jumps merely because real time passes. Cards live at least five minutes, and 400 calls take only seconds. Every jump
 * is longer than five minutes, so a card with the shortest lifetime expires at the next jump.
 */
const maxStepsBetweenJumps = 400

/**
 * The average number of clock jumps while an agent makes 100 calls. It is low so that most cards live long enough to be
 * used.
 */
const jumpsPerHundredCalls = 5

function takeTurns(agents: AgentState[], random: Random, planContext: PlanContext, addAction: AddAction): void {
  const { options } = planContext
  let callsSinceJump = 0
  for (;;) {
    const busy = agents.filter((agent) => !isDone(agent, options.purchases))
    if (busy.length === 0) return
    const agent = random.pick(busy)
    const shouldJump = callsSinceJump >= maxStepsBetweenJumps || random.chance(jumpsPerHundredCalls / options.agents)
    if (options.clockJumps && shouldJump) {
      addAction(agent, { tool: 'advance_sandbox_clock', party: 'own', seconds: jumpSeconds(random) })
      callsSinceJump = 0
    } else {
      remember(agent, addAction(agent, chooseAction(agent, random, planContext, agents)))
      callsSinceJump++
    }
  }
}

/**
 * The possible lengths of a clock jump in half hours, each with its weight. The longest jumps exceed the lifetime of
 * every card, the window in which answers are replayed (2 days), and the duration of a hold (7 days).
 */
const jumpSteps = { 1: 28, 2: 18, 3: 10, 24: 10, 48: 10, 95: 5, 96: 5, 335: 3, 336: 3, 384: 4 } as const

function jumpSeconds(random: Random): number {
  return Number(random.weighted(jumpSteps as unknown as Record<string, number>)) * clockStepSeconds
}

function newAgent(number: number): AgentState {
  return { number, issued: 0, open: [], closed: [], keyed: [] }
}

/**
 * The maximum number of calls that an agent remembers in order to repeat them. To make room for a new call, the agent
 * forgets an arbitrary call rather than the oldest, so that some old calls are repeated too.
 */
const maxKeyed = 50

function remember(agent: AgentState, action: Action): void {
  if (action.key === undefined) return
  if (agent.keyed.length === maxKeyed) agent.keyed.splice(action.step % maxKeyed, 1)
  agent.keyed.push(action)
}

function createNames(): PlanContext['nextName'] {
  const counts = new Map<string, number>()
  return (kind) => {
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    return `${kind}-${count}`
  }
}
