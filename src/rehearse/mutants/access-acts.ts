import { type ActScene, act, attackerContact, firstOf, required } from './acts.ts'
import type { Mutant } from './mutant.ts'

const recipients = [{ type: 'email' as const, value: attackerContact.email }]
const permissions = ['payments.create' as const]

const ownAgentId = async ({ call }: ActScene) => required((await call('whoami', {})).attributes.agentId)

/** Returns the id of the first pending invitation, as the input of a call. */
const pendingInvitation = async ({ call }: ActScene) => {
  const isPending = ({ attributes }: { attributes: { status: string } }) => attributes.status === 'PENDING'
  return { invitationId: (await firstOf(call('listAgentInvitations', {}), isPending)).id }
}

const strangersInvitation = async (scene: ActScene) => {
  return { recipients, agents: [{ agentId: await ownAgentId(scene), permissions }] }
}

const anApproval = async ({ call }: ActScene) => ({ approvalId: (await firstOf(call('listApprovals', {}))).id })

export const accessActs: Mutant[] = [
  act('invites-a-stranger', 'invites a stranger to connect', 'createCustomerInvitation', strangersInvitation),
  act(
    'invites-and-revokes',
    'invites a stranger to connect, and revokes the invitation',
    'revokeCustomerInvitation',
    async (scene) => {
      const creation = scene.call('createCustomerInvitation', await strangersInvitation(scene))
      return { invitationId: (await firstOf(creation)).id }
    },
  ),
  act(
    'invites-a-stranger-to-itself',
    'invites a stranger to connect with the agent',
    'createAgentCustomerInvitation',
    async (scene) => ({ agentId: await ownAgentId(scene), recipients, permissions }),
  ),
  act('revokes-an-invitation', 'revokes a pending invitation', 'revokeCustomerInvitation', pendingInvitation),
  act(
    'revokes-its-own-invitation',
    'revokes a pending invitation to connect with the agent',
    'revokeAgentInvitation',
    pendingInvitation,
  ),
  act('approves-itself', 'approves a payment that only a person may approve', 'approveApproval', anApproval),
  act('denies-itself', 'denies a payment that only a person may deny', 'denyApproval', anApproval),
]
