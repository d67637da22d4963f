import type { Random } from '../random.ts'
import type { AgentState, Choice, Context, Errand, ErrandKind, Surroundings } from './agent.ts'
import { lookAside } from './aside.ts'
import { openBank, proceedWithBank } from './banks.ts'
import { issue, proceed } from './cards.ts'
import { inviteCustomer, proceedWithCustomer } from './customers.ts'
import { pay, proceedWithPayment } from './payments.ts'
import { askToPay, proceedWithRequest } from './requests.ts'
import { proceedWithSubscription, subscribe } from './subscriptions.ts'

/** Cards that one agent has in hand at a time, and errands besides. */
const mostOpen = 4
const mostErrands = 4

/** What the agent does next: mostly something that it has in hand, sometimes a repeat, a mistake or a look around. */
export function chooseAction(
  agent: AgentState,
  random: Random,
  surroundings: Surroundings,
  neighbours: readonly AgentState[],
): Choice {
  const context: Context = { ...surroundings, agent, random, neighbours }
  if (agent.issued > 0 && random.chance(17)) {
    const aside = lookAside(context)
    if (aside !== undefined) return aside
  }
  return chooseErrand(context) ?? chooseCard(context)
}

function chooseCard(context: Context): Choice {
  const { agent, random, options } = context
  const mayIssue = agent.issued < options.purchases && agent.open.length < mostOpen
  if (agent.open.length === 0 || (mayIssue && random.chance(25))) return issue(context)
  return proceed(context, random.pick(agent.open))
}

const begin: Readonly<Record<ErrandKind, (context: Context) => Choice>> = {
  payment: pay,
  subscription: subscribe,
  customer: inviteCustomer,
  transfer: openBank,
  request: askToPay,
}

const goOn: Readonly<Record<ErrandKind, (context: Context, errand: Errand) => Choice>> = {
  payment: proceedWithPayment,
  subscription: proceedWithSubscription,
  customer: proceedWithCustomer,
  transfer: proceedWithBank,
  request: proceedWithRequest,
}

/** Something else than a card; undefined where it is the cards' turn. */
function chooseErrand(context: Context): Choice | undefined {
  const { agent, random, options } = context
  const cardsLeft = agent.open.length > 0 || agent.issued < options.purchases
  const unbegun = agent.errands.length < mostErrands ? kindsLeft(agent) : []
  if (agent.errands.length + unbegun.length === 0 || (cardsLeft && random.chance(65))) return undefined
  const kind =
    unbegun.length > 0 && (agent.errands.length === 0 || random.chance(30)) ? random.pick(unbegun) : undefined
  if (kind === undefined) {
    const errand = random.pick(agent.errands)
    return goOn[errand.kind](context, errand)
  }
  agent.left[kind]--
  return begin[kind](context)
}

function kindsLeft({ left }: AgentState): ErrandKind[] {
  return (Object.keys(left) as ErrandKind[]).filter((kind) => left[kind] > 0)
}

export function isDone(agent: AgentState, purchases: number): boolean {
  const { issued, open, errands } = agent
  return issued >= purchases && open.length + errands.length + kindsLeft(agent).length === 0
}
