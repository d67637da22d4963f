import { Failure, failAttribute } from '../../../core/errors.ts'
import { money, withMoney } from '../../../core/money.ts'
import { type LimitReason, type Limits, limitsHit, limitWords } from '../../rules/limits.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findDelegation } from '../../store/delegations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { type Spender, spentBy } from '../../store/spending.ts'

/** Limits, and whose spending they cap. */
interface Cap {
  limits: Limits
  spender: Spender
}

/** Every limit that a payment goes beyond: the agent's on its own party or the customer's grant's, then the party's. */
export async function limitsPassed(
  tx: Transaction,
  spender: Spender,
  amountCents: number,
  nowMs: number,
): Promise<LimitReason[]> {
  const { partyId } = spender
  const ofParty = capOf((await findParty(tx, partyId))?.limits ?? null, { partyId, agentId: null })
  return reasonsOf(tx, [...(await agentCap(tx, spender)), ...ofParty], amountCents, nowMs)
}

/** Refuses a card that could buy more at once than its agent may spend at once. @throws 422 naming `maximumAmount`. */
export async function requireCardWithinLimits(tx: Transaction, spender: Spender, maximumCents: number): Promise<void> {
  const [cap] = await agentCap(tx, spender)
  const limit = cap?.limits.perTransaction ?? Number.POSITIVE_INFINITY
  if (maximumCents <= limit) return
  failAttribute(
    'maximumAmount',
    `maximumAmount must be at most ${withMoney(limit)}, the limit per transaction of this agent, got ${withMoney(maximumCents)}.`,
    { maximum: limit },
  )
}

/**
 * The refusal of a purchase that would pass a limit of its agent, a 409 `conflict` saying which: nobody can be asked while
 * a merchant waits, so that no money moves. The limits of a party put payments in review; they refuse no purchase.
 */
export async function purchaseRefusal(
  tx: Transaction,
  spender: Spender,
  amountCents: number,
  nowMs: number,
): Promise<Failure | undefined> {
  const reasons = await reasonsOf(tx, await agentCap(tx, spender), amountCents, nowMs)
  if (reasons.length === 0) return undefined
  const told = reasons.map(
    ({ limitType, limitAmount, actualAmount }) =>
      `${money(actualAmount)} of at most ${money(limitAmount)} ${limitWords[limitType]}`,
  )
  return new Failure('conflict', {
    detail: `The purchase would pass a limit of its agent, and nothing was authorized: ${told.join(', ')}. Authorize less, wait for the next window, or ask whoever set the limit.`,
  })
}

async function reasonsOf(
  tx: Transaction,
  caps: readonly Cap[],
  amountCents: number,
  nowMs: number,
): Promise<LimitReason[]> {
  const reasons: LimitReason[] = []
  for (const { limits, spender } of caps) {
    // What is not limited is not looked up.
    const isBounded = (limits.perDay ?? limits.perMonth ?? null) !== null
    const spent = isBounded ? await spentBy(tx, spender, nowMs) : { dayCents: 0, monthCents: 0 }
    reasons.push(...limitsHit(limits, amountCents, spent))
  }
  return reasons
}

/** The limits of an agent on a party: its owner's on the owner's party, else those of the customer's grant. */
async function agentCap(tx: Transaction, spender: Spender): Promise<Cap[]> {
  const { agentId, partyId } = spender
  if (agentId === null) return []
  const agent = await findAgentOfAnyParty(tx, { id: agentId })
  const own = agent?.partyId === partyId
  return capOf(own ? agent.limits : ((await findDelegation(tx, agentId, partyId))?.limits ?? null), spender)
}

function capOf(limits: string | null, spender: Spender): Cap[] {
  return limits === null ? [] : [{ limits: JSON.parse(limits) as Limits, spender }]
}
