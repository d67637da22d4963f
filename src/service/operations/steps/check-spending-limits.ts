import { Failure, failAttribute } from '../../../core/errors.ts'
import { money, withMoney } from '../../../core/money.ts'
import { type LimitOwner, type LimitReason, type Limits, limitsHit, limitsOf, limitWords } from '../../rules/limits.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findDelegation } from '../../store/delegations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import type { AgentRow } from '../../store/schema/agents.ts'
import { readSpent, type Spender } from '../../store/spending.ts'

/** The limits of one owner, and the spender whose payments count toward these limits. */
interface Cap {
  owner: LimitOwner
  limits: Limits
  spender: Spender
}

/** A spender, with its agent's row if that row is already loaded. */
type AgentSpender = Spender & { agent?: Pick<AgentRow, 'partyId' | 'limits'> | undefined }

/**
 * Returns every limit that a payment would exceed: first the limits of the agent or of the customer's grant, then those
 * of the account.
 */
export async function findExceededLimits(
  tx: Transaction,
  spender: Spender,
  amountCents: number,
  nowMs: number,
): Promise<LimitReason[]> {
  return reasonsOf(tx, await capsOf(tx, spender), amountCents, nowMs)
}

/**
 * Requires that a card's maximum does not exceed the limit per transaction. For a customer's card, this is the limit in
 * the customer's grant; for any other card, it is the agent's own limit.
 * @throws 422 for `maximumAmount`.
 */
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
    `maximumAmount got ${withMoney(maximumCents)}; it accepts at most ${withMoney(limit)}, this agent's limit per transaction.`,
    { maximum: limit },
  )
}

/**
 * Returns a 409 `conflict` if a purchase would exceed a limit of the agent or of the customer's grant; otherwise
 * undefined. The error states every exceeded limit. The purchase is not put in review, because a merchant cannot wait
 * for a person to decide. The account's limits do not apply, because their only effect is to put payments in review.
 */
export async function purchaseRefusal(
  tx: Transaction,
  spender: AgentSpender,
  amountCents: number,
  nowMs: number,
): Promise<Failure | undefined> {
  const reasons = await reasonsOf(tx, await capsOf(tx, spender, isOfAgent), amountCents, nowMs)
  if (reasons.length === 0) return undefined
  const excesses = reasons.map(
    ({ limitType, limitAmount, actualAmount }) =>
      `${money(actualAmount)}, above the limit of ${money(limitAmount)} ${limitWords[limitType]}`,
  )
  return new Failure('conflict', {
    detail: `The purchase would exceed the agent's limits, so nothing was authorized: the agent would spend ${excesses.join(', and ')}. Authorize less, wait until a daily or monthly limit resets, or ask the person who set the limits.`,
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
    const hasPeriodLimit = (limits.perDay ?? limits.perMonth ?? null) !== null
    const spent = hasPeriodLimit ? await readSpent(tx, spender, nowMs) : { dayCents: 0, monthCents: 0 }
    reasons.push(...limitsHit(limits, amountCents, spent))
  }
  return reasons
}

/**
 * Loads the limits that apply when a spender pays from the party's wallets. Leaves out the limits of owners for which
 * `isIncluded` returns false.
 */
export async function capsOf(
  tx: Transaction,
  { agentId, partyId, agent: loadedAgent }: AgentSpender,
  isIncluded: (owner: LimitOwner) => boolean = () => true,
): Promise<Cap[]> {
  const agent = loadedAgent ?? (agentId === null ? undefined : await findAgentOfAnyParty(tx, { id: agentId }))
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
