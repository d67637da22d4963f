import { Failure, failAttribute } from '../../../core/errors.ts'
import { money, withMoney } from '../../../core/money.ts'
import { type LimitOwner, type LimitReason, type Limits, limitsHit, limitsOf, limitWords } from '../../rules/limits.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findDelegation } from '../../store/delegations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import type { AgentRow } from '../../store/schema/agents.ts'
import { type Spender, spentBy } from '../../store/spending.ts'

/** The limits of one owner, and the spender whose payments count toward them. */
interface Cap {
  owner: LimitOwner
  limits: Limits
  spender: Spender
}

/** An agent that spends from a party's wallets, with the agent's row if it was already read. */
type AgentSpender = Spender & { agent?: Pick<AgentRow, 'partyId' | 'limits'> | undefined }

/** Returns every limit that a payment exceeds, starting with those of the agent or the customer's grant. */
export async function findExceededLimits(
  tx: Transaction,
  spender: Spender,
  amountCents: number,
  nowMs: number,
): Promise<LimitReason[]> {
  return reasonsOf(tx, await capsOf(tx, spender), amountCents, nowMs)
}

/** Rejects a card whose maximum exceeds its agent's limit per transaction. @throws 422 naming `maximumAmount`. */
export async function requireCardWithinLimits(
  tx: Transaction,
  spender: AgentSpender,
  maximumCents: number,
): Promise<void> {
  const [cap] = await capsOf(tx, spender, isOfAgent)
  const limit = cap?.limits.perTransaction ?? Number.POSITIVE_INFINITY
  if (maximumCents <= limit) return
  failAttribute(
    'maximumAmount',
    `maximumAmount must be at most ${withMoney(limit)}, the limit per transaction of this agent, got ${withMoney(maximumCents)}.`,
    { maximum: limit },
  )
}

/**
 * Returns a 409 `conflict` naming the limit if a purchase would exceed one of its agent's limits. The purchase is not
 * put in review, because a merchant cannot wait for a person to decide. A party's own limits can put payments in
 * review, but never refuse a purchase.
 */
export async function purchaseRefusal(
  tx: Transaction,
  spender: AgentSpender,
  amountCents: number,
  nowMs: number,
): Promise<Failure | undefined> {
  const reasons = await reasonsOf(tx, await capsOf(tx, spender, isOfAgent), amountCents, nowMs)
  if (reasons.length === 0) return undefined
  const sentences = reasons.map(
    ({ limitType, limitAmount, actualAmount }) =>
      `${money(actualAmount)} of at most ${money(limitAmount)} ${limitWords[limitType]}`,
  )
  return new Failure('conflict', {
    detail: `The purchase would exceed a limit of its agent, and nothing was authorized: ${sentences.join(', ')}. Authorize less, wait until the limit starts again, or ask the person who set it.`,
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
    const isBounded = (limits.perDay ?? limits.perMonth ?? null) !== null
    const spent = isBounded ? await spentBy(tx, spender, nowMs) : { dayCents: 0, monthCents: 0 }
    reasons.push(...limitsHit(limits, amountCents, spent))
  }
  return reasons
}

/** Loads the limits that apply when a spender uses its party's wallets. `isIncluded` selects whose limits are loaded. */
export async function capsOf(
  tx: Transaction,
  { agentId, partyId, agent: knownAgent }: AgentSpender,
  isIncluded: (owner: LimitOwner) => boolean = () => true,
): Promise<Cap[]> {
  const agent = knownAgent ?? (agentId === null ? undefined : await findAgentOfAnyParty(tx, { id: agentId }))
  const load = {
    agent: async () => agent,
    grant: () => findDelegation(tx, agentId ?? '', partyId),
    account: () => findParty(tx, partyId),
  }
  const caps: Cap[] = []
  for (const owner of limitsOf({ agentId, agentPartyId: agent?.partyId, partyId }).filter(isIncluded)) {
    const limits = (await load[owner]())?.limits ?? null
    const spender = { partyId, agentId: owner === 'account' ? null : agentId }
    if (limits !== null) caps.push({ owner, limits: JSON.parse(limits) as Limits, spender })
  }
  return caps
}

const isOfAgent = (owner: LimitOwner) => owner !== 'account'
