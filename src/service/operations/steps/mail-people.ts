import type { ChangeContext } from '../../request/due-effects.ts'
import type { Recipient } from '../../rules/customer-invitations.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findParty } from '../../store/parties.ts'
import { keepMessage } from '../../store/sandbox-messages.ts'
import type { ApprovalRow } from '../../store/schema/approvals.ts'
import type { PartyRow } from '../../store/schema/parties.ts'
import type { PaymentRequestRow } from '../../store/schema/payment-requests.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import { decidersOf } from '../../store/users.ts'

/** The maximum number of a party's owners and admins who are asked for the same approval. */
const maxDeciders = 20

/**
 * Finds the addresses of the people to ask for an approval: the party's owners and admins, or the party itself if there
 * are none. Returns a function that stores the messages to these addresses. Must be called before the transaction's
 * first write, because a read after a write costs another round trip.
 */
export async function prepareApprovalMessages(context: ChangeContext, { partyId, agentId, amountCents }: PaymentRow) {
  const { tx } = context
  const [users, party, agent] = await Promise.all([
    decidersOf(tx, partyId, maxDeciders),
    findParty(tx, partyId),
    agentId === null ? undefined : findAgentOfAnyParty(tx, { id: agentId }),
  ])
  const addresses = users.length > 0 ? users.map(({ email }) => email) : addressesOf(party)
  return async ({ id }: Pick<ApprovalRow, 'id'>) => {
    const facts = { from: party?.displayName ?? '', amountCents, ...(agent === undefined ? {} : { agent: agent.name }) }
    const about = { partyId, id, agentId }
    for (const to of addresses) await keepMessage(context, { kind: 'approval_required', to, about, ...facts })
  }
}

/**
 * Finds the address of a new payment request's payer. Returns a function that stores the message to the payer, if the
 * payer has an address.
 */
export async function prepareRequestMessage(context: ChangeContext, request: PaymentRequestRow) {
  const { tx } = context
  const { id, partyId, agentId, amountCents, payerPartyId, payerValue } = request
  const [requester, payer] = await Promise.all([
    findParty(tx, partyId),
    payerPartyId === null ? undefined : findParty(tx, payerPartyId),
  ])
  const from = requester?.displayName ?? ''
  const to = payerPartyId === null ? payerValue : addressesOf(payer)[0]
  return async () => {
    if (to === undefined) return
    await keepMessage(context, { kind: 'payment_request', to, about: { partyId, id, agentId }, from, amountCents })
  }
}

/** Notifies the recipient of a payment that waits to be claimed. Does nothing for any other payment. */
export async function mailClaimant(context: ChangeContext, payment: PaymentRow): Promise<void> {
  if (payment.status !== 'PENDING_CLAIM' || payment.claimant === null) return
  const { id, partyId, agentId, amountCents, claimant: to } = payment
  const from = (await findParty(context.tx, partyId))?.displayName ?? ''
  await keepMessage(context, { kind: 'payment_claim', to, about: { partyId, id, agentId }, from, amountCents })
}

/**
 * Returns the email address or phone number of the invited person; undefined if the person was invited by a party id
 * and that party has neither.
 */
export function addressOf(recipient: Recipient, party: PartyRow | undefined): string | undefined {
  return recipient.type === 'party_id' ? addressesOf(party)[0] : recipient.value
}

function addressesOf(party: { email: string | null; phone: string | null } | undefined): string[] {
  const address = party?.email?.toLowerCase() ?? party?.phone
  return typeof address === 'string' ? [address] : []
}
