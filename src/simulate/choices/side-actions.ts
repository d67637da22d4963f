import type { Tool } from '../action.ts'
import { type Choice, type Context, type NamedKind, payingParty } from './agent.ts'
import { amountFor, authorize, randomMerchantAction } from './cards.ts'

/**
 * Chooses an action that does not advance the purchase of an open card; undefined if there is no suitable record or
 * call.
 */
export function chooseSideAction(context: Context): Choice | undefined {
  const { random, agent, model, repeatSources, options } = context
  const choice = random.weighted({ repeat: 45, conflict: 10, wallets: 20, closed: 15, wrongParty: 10 })
  if (choice === 'wallets') return { tool: 'list_wallets', party: payingParty(context, 25) }
  if (choice === 'repeat' || choice === 'conflict') {
    const keyed = random.pick(repeatSources).keyed
    if (keyed.length === 0) return undefined
    const { step: _, agent: __, ...earlier } = random.pick(keyed)
    return choice === 'repeat' ? repeatedChoice(context, earlier) : alteredChoice(context, earlier)
  }
  const names = choice === 'closed' ? agent.closed : [...agent.closed, ...agent.open.map(({ card }) => card)]
  if (names.length === 0) return undefined
  const name = random.pick(names)
  const transaction = model.transaction(name)
  if (choice === 'closed') {
    if (transaction !== undefined) return randomMerchantAction(context, transaction)
    const card = model.card(name)
    return card === undefined ? undefined : authorize(context, card, amountFor(context, card), true)
  }
  const tool = transaction === undefined ? 'get_agent_card' : 'get_card_transaction'
  const party = (transaction ?? model.card(name))?.party === 'own' ? 'customer' : 'own'
  return options.start.customer === undefined ? undefined : { tool, party, subject: name }
}

/**
 * Returns an earlier call with the same key. If the idempotency record has expired, the service carries the call out
 * again and creates a second card, purchase or refund. The second record needs a new name.
 */
function repeatedChoice({ nextName }: Context, earlier: Choice): Choice {
  if (earlier.makes === undefined) return earlier
  return { ...earlier, makes: nextName(earlier.makes.replace(/-\d+$/, '') as NamedKind) }
}

/**
 * Pairs of tools that take the same arguments. To provoke a conflict, the key of a call is reused for the other tool.
 */
const counterpartTools: Partial<Record<Tool, Tool>> = {
  simulate_card_reversal: 'simulate_card_expiration',
  simulate_card_expiration: 'simulate_card_reversal',
  freeze_agent_card: 'unfreeze_agent_card',
  unfreeze_agent_card: 'freeze_agent_card',
}

/**
 * Returns an earlier call with the same key but one change, such as a different amount; undefined if no change is
 * possible.
 */
function alteredChoice(context: Context, earlier: Choice): Choice | undefined {
  const { random, options } = context
  const again = repeatedChoice(context, earlier)
  const { party, maximum, amount, tool } = again
  if (options.start.customer !== undefined && options.ordered && random.chance(20)) {
    return { ...again, party: party === 'own' ? 'customer' : 'own' }
  }
  if (maximum !== undefined) return { ...again, maximum: maximum + 1 }
  if (amount !== undefined) return { ...again, amount: amount + 1 }
  const other = counterpartTools[tool]
  return other === undefined ? undefined : { ...again, tool: other }
}
