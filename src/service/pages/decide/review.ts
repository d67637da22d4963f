import { payments } from '../../../../tools/payments.ts'
import { Failure } from '../../../core/errors.ts'
import { type Answer, decisionIdPattern, type HeldCall, type HeldState, withAnswer } from '../../../core/held-call.ts'
import { capsOf } from '../../operations/steps/check-spending-limits.ts'
import { type Counterparty, resolveCounterparty } from '../../operations/steps/resolve-counterparty.ts'
import { actOfUser } from '../../request/activity.ts'
import type { SettledContext } from '../../request/due-effects.ts'
import type { Opening } from '../../request/failed-effects.ts'
import { runChange, runSettled, unchanged } from '../../request/settled-transaction.ts'
import type { LimitOwner, Limits, Spent } from '../../rules/limits.ts'
import type { ReportEntry, ReportedEntry } from '../../rules/runs.ts'
import { findAgent } from '../../store/agents.ts'
import { findCredential } from '../../store/credentials.ts'
import { recordEvents } from '../../store/events.ts'
import { findGrant } from '../../store/oauth-grants.ts'
import { findParty } from '../../store/parties.ts'
import {
  type DecisionRecord,
  findDecision,
  openDecision,
  storeDecision,
  waitingDecisions,
} from '../../store/pending-decisions.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { readSpent } from '../../store/spending.ts'

/** A call that needs a decision, as shown to the people who may decide. */
export interface DecisionReview {
  id: string
  call: HeldCall
  state: HeldState
  endsAtMs: number
  asker: Asker
  /**
   * The name of the party to pay; null if the call does not state the payee's id or handle, or if the payee is unknown.
   */
  payee: string | null
  /** The spending limits that apply, with the account's limits last; empty if the call spends nothing. */
  caps: ShownCap[]
}

/** The caller that made the call. */
export interface Asker {
  agent: string | null
  /** The application that a user connected; null if the call used a key. */
  application: { id: string; name: string } | null
  /** The name of the API key; null if the call used no API key or the key has no name. */
  key: string | null
}

export interface ShownCap {
  owner: LimitOwner
  limits: Limits
  spent: Spent
}

export type DecisionReviews = ReturnType<typeof createDecisionReviews>

/** Creates the functions that read the calls on which a user may decide, and that record the user's decision. */
export function createDecisionReviews(dependencies: Opening & { reportEntry: ReportEntry }) {
  return {
    open: (id: string, user: UserRow) =>
      runSettled(dependencies, async (context) => {
        if (!decisionIdPattern.test(id)) return undefined
        const row = await findDecision(context.tx, { partyId: user.partyId, id })
        return row && reviewOf(context, user, await openDecision(context.tx, row))
      }),
    /** Returns the pending calls of the user's party, the soonest expiry first. */
    waiting: (user: UserRow, limit: number) =>
      runSettled(dependencies, async (context) => {
        const { tx, realNowMs: nowMs } = context
        const rows = await waitingDecisions(tx, { partyId: user.partyId, nowMs, limit })
        return Promise.all(rows.map(async (row) => reviewOf(context, user, await openDecision(tx, row))))
      }),
    /** Records the user's answer to a call. Returns false if the call is unknown, already decided or expired. */
    decide: async (id: string, user: UserRow, answer: Answer) => {
      const entry = await runChange<ReportedEntry | undefined>(dependencies, async (context) => {
        const { tx, nowMs: atMs, realNowMs } = context
        const row = decisionIdPattern.test(id) ? await findDecision(tx, { partyId: user.partyId, id }) : undefined
        const after = row && withAnswer({ status: row.status, endsAtMs: row.expiresAtMs }, answer, realNowMs)
        if (row === undefined || after === undefined || !(await storeDecision(tx, row, after, user.id))) {
          return unchanged(undefined)
        }
        const { event, operation } = recordsByAnswer[answer]
        recordEvents(tx, { partyId: user.partyId, id, agentId: null }, [event], atMs)
        const result = await runEntryOf(context, user, await openDecision(tx, row), answer)
        return { result, acts: [actOfUser(user, { operation, resourceIds: [id] })] }
      })
      if (entry !== undefined) dependencies.reportEntry(entry)
      return entry !== undefined
    },
  }
}

/** The event to record for each answer, and the name of the operation in the activity log. */
const recordsByAnswer = {
  yes: { event: 'decision.agreed', operation: 'agree_to_call' },
  no: { event: 'decision.refused', operation: 'refuse_call' },
} as const

/** Returns the entry that reports the decision in the run to which the call belongs. */
async function runEntryOf(
  context: SettledContext,
  { partyId, name, email }: UserRow,
  { id, call, principalId }: DecisionRecord,
  answer: Answer,
): Promise<ReportedEntry> {
  const { agentId } = await askerOf(context, partyId, principalId)
  return {
    partyId,
    agentId,
    instanceId: call.instanceId ?? null,
    host: call.host,
    kind: 'decision',
    outcome: answer === 'yes' ? 'agreed' : 'disagreed',
    operation: call.tool,
    remark: `${name} (${email}) decided on the page.`,
    resourceIds: [id],
  }
}

async function reviewOf(
  context: SettledContext,
  { partyId }: UserRow,
  { id, call, state, endsAtMs, principalId }: DecisionRecord,
): Promise<DecisionReview> {
  const { agentId, ...asker } = await askerOf(context, partyId, principalId)
  const caps = await capsOfCall(context, call, { partyId, agentId })
  return { id, call, state, endsAtMs, asker, payee: await payeeOf(context, call), caps }
}

/**
 * Returns the name of the party to pay; null if the call creates no payment to an id or a handle, or if the payee is
 * unknown.
 */
async function payeeOf({ tx }: SettledContext, { tool, arguments: callArguments }: HeldCall): Promise<string | null> {
  const counterparty = (callArguments.counterparty ?? {}) as Partial<Counterparty>
  const { type, value } = counterparty
  const isNamed = type === 'party_id' || type === 'agent_id' || type === 'handle'
  if (tool !== payments.createPayment.name || !isNamed || typeof value !== 'string') return null
  try {
    const { recipientPartyId } = await resolveCounterparty(tx, { type, value })
    return recipientPartyId === null ? null : ((await findParty(tx, recipientPartyId))?.displayName ?? null)
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** Returns the id of the party for which the call acts; undefined if the arguments do not state a party. */
const customerOf = ({ arguments: callArguments }: HeldCall) =>
  [callArguments.customerPartyId, callArguments.partyId].find(
    (party): party is string => typeof party === 'string' && party !== '',
  )

async function askerOf({ tx }: SettledContext, partyId: string, principalId: string) {
  const grant = await findGrant(tx, principalId)
  const credential = grant === undefined ? await findCredential(tx, { id: principalId }) : undefined
  const agentId = (grant ?? credential)?.agentId ?? null
  const agent = agentId === null ? undefined : await findAgent(tx, partyId, agentId)
  return {
    agentId,
    agent: agent?.name ?? null,
    application: grant === undefined ? null : { id: grant.clientId, name: grant.clientName },
    key: credential?.kind === 'api_key' ? credential.name : null,
  }
}

/**
 * Returns the spending limits that apply to the call. If the call acts for a customer, the limits of the customer's
 * account are private, so they are left out.
 */
async function capsOfCall(
  { tx, nowMs }: SettledContext,
  call: HeldCall,
  { partyId, agentId }: { partyId: string; agentId: string | null },
): Promise<ShownCap[]> {
  if (!call.spends) return []
  const customerId = customerOf(call) ?? partyId
  const isShown = (owner: LimitOwner) => owner !== 'account' || customerId === partyId
  const caps = await capsOf(tx, { partyId: customerId, agentId }, isShown)
  return Promise.all(
    caps.map(async ({ owner, limits, spender }) => ({ owner, limits, spent: await readSpent(tx, spender, nowMs) })),
  )
}
