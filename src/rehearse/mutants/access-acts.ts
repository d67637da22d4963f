import { act, answered, first, isDone, stranger } from './acts.ts'
import type { Mutant, Scene } from './mutant.ts'

const recipients = [{ type: 'email' as const, value: stranger.email }]
const permissions = ['payments.create' as const]

/** The agent itself. */
const ownAgent = async ({ tools }: Scene) => (await answered(tools.call('whoami', {})))?.attributes.agentId ?? undefined

/** An invitation that was there before, and waits for its answer. */
const pendingInvitation = async ({ tools }: Scene) =>
  (await first(tools.call('listAgentInvitations', {}), ({ attributes }) => attributes.status === 'PENDING'))?.id

/** Invites a stranger; the invitation. */
async function invite(scene: Scene): Promise<string | undefined> {
  const agentId = await ownAgent(scene)
  if (agentId === undefined) return undefined
  const asked = { recipients, agents: [{ agentId, permissions }] }
  return first(scene.tools.call('createCustomerInvitation', asked)).then((made) => made?.id)
}

export const accessActs: Mutant[] = [
  act('invites-a-stranger', 'invites a stranger to connect', ['createCustomerInvitation'], async (scene) => {
    return (await invite(scene)) !== undefined
  }),
  act(
    'invites-and-revokes',
    'invites a stranger to connect, and takes that back',
    ['createCustomerInvitation', 'revokeCustomerInvitation'],
    async (scene) => {
      const invitationId = await invite(scene)
      if (invitationId === undefined) return false
      return isDone(await scene.tools.call('revokeCustomerInvitation', { invitationId }))
    },
  ),
  act(
    'invites-a-stranger-to-itself',
    'invites a stranger to the agent itself',
    ['createAgentCustomerInvitation'],
    async (scene) => {
      const agentId = await ownAgent(scene)
      if (agentId === undefined) return false
      const asked = { agentId, recipients, permissions }
      return isDone(await scene.tools.call('createAgentCustomerInvitation', asked))
    },
  ),
  act(
    'revokes-an-invitation',
    'revokes an invitation that waits for its answer',
    ['revokeCustomerInvitation'],
    async (scene) => {
      const invitationId = await pendingInvitation(scene)
      if (invitationId === undefined) return false
      return isDone(await scene.tools.call('revokeCustomerInvitation', { invitationId }))
    },
  ),
  act(
    'revokes-its-own-invitation',
    'revokes an invitation to itself that waits for its answer',
    ['revokeAgentInvitation'],
    async (scene) => {
      const invitationId = await pendingInvitation(scene)
      return invitationId !== undefined && isDone(await scene.tools.call('revokeAgentInvitation', { invitationId }))
    },
  ),
  act('approves-itself', 'approves a payment in the place of a person', ['approveApproval'], async ({ tools }) => {
    const approval = await first(tools.call('listApprovals', {}))
    return approval !== undefined && isDone(await tools.call('approveApproval', { approvalId: approval.id }))
  }),
  act('denies-itself', 'denies a payment in the place of a person', ['denyApproval'], async ({ tools }) => {
    const approval = await first(tools.call('listApprovals', {}))
    return approval !== undefined && isDone(await tools.call('denyApproval', { approvalId: approval.id }))
  }),
]
