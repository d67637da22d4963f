import type { Random } from '../random.ts'
import type { AgentState, Choice, Context, PlanContext } from './agent.ts'
import { issue, proceed } from './cards.ts'
import { chooseSideAction } from './side-actions.ts'

/** The maximum number of cards that each agent uses at the same time. */
const maxOpen = 4

/** Chooses an agent's next action. Most actions issue or use a card; the others are repeats, reads or invalid calls. */
export function chooseAction(
  agent: AgentState,
  random: Random,
  planContext: PlanContext,
  repeatSources: readonly AgentState[],
): Choice {
  const context: Context = { ...planContext, agent, random, repeatSources }
  if (agent.issued > 0 && random.chance(17)) {
    const aside = chooseSideAction(context)
    if (aside !== undefined) return aside
  }
  const mayIssue = agent.issued < context.options.purchases && agent.open.length < maxOpen
  if (agent.open.length === 0 || (mayIssue && random.chance(25))) return issue(context)
  return proceed(context, random.pick(agent.open))
}

export function isDone({ issued, open }: AgentState, purchases: number): boolean {
  return issued >= purchases && open.length === 0
}
