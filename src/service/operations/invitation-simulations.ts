import { failAttribute } from '../../core/errors.ts'
import { newId } from '../../core/system.ts'
import type { Context, Handler } from '../request/handler.ts'
import { defaultInvitationDays } from '../rules/customer-invitations.ts'
import type { InvitationRecord } from '../store/customer-invitations.ts'
import { partyOfRecipient } from '../store/delegations.ts'
import { invitationView, invitationViews, loadInvitation } from './customer-invitations.ts'
import {
  acceptInvitation,
  declineInvitation,
  invitedParty,
  joinAsTestCustomer,
  recipientOf,
} from './invitation-answers.ts'
import { expiry, inviteAll, loadAgents } from './inviting.ts'

/** Send and view payments, view wallets: what a test customer is asked for unless it is said. */
const usualPermissions = ['payments.create', 'payments.read', 'wallets.read'] as const

export const simulateCustomerInvitation: Handler<'simulateCustomerInvitation'> = async (input, context) => {
  const { system, nowMs } = context
  const agents = await loadAgents(context, input.agentIds, (index) => `agentIds/${index}`)
  const partyId = newId('pty', system, nowMs)
  const { handle, email } = await joinAsTestCustomer(context, partyId, input.type)
  const asked = agents.map((agent) => ({ agent, permissions: input.permissions ?? usualPermissions }))
  const terms = { message: input.message, expiresAtMs: expiry(undefined, nowMs, defaultInvitationDays) }
  const { invitations } = await inviteAll(context, [{ type: 'email', value: email }], asked, terms)
  return {
    data: await invitationViews(context, invitations),
    meta: { customer: { partyId, handle: `@${handle}`, partyType: input.type } },
  }
}

export const simulateInvitationAcceptance: Handler<'simulateInvitationAcceptance'> = async (input, context) => {
  const invitation = await loadAddressed(context, input)
  const customer = await invitedParty(context, invitation)
  return invitationView(context, await acceptInvitation(context, invitation, customer))
}

export const simulateInvitationDecline: Handler<'simulateInvitationDecline'> = async (input, context) =>
  invitationView(context, await declineInvitation(context, await loadAddressed(context, input)))

/** The invitation, if it is to the party that is to answer it; whether another one exists is not told. */
async function loadAddressed(
  context: Context,
  { invitationId, partyId }: { invitationId: string; partyId?: string | undefined },
): Promise<InvitationRecord> {
  const invitation = await loadInvitation(context, invitationId)
  if (partyId === undefined) return invitation
  const invited = await partyOfRecipient(context.tx, recipientOf(invitation))
  if (invited?.id !== partyId)
    failAttribute('partyId', 'partyId must be the party that the invitation is addressed to.')
  return invitation
}
