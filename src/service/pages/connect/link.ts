import { fail } from '../../../core/errors.ts'
import { newId } from '../../../core/system.ts'
import { hashOfToken, joinAsTestCustomer } from '../../operations/steps/answer-invitations.ts'
import { actOfVisitor } from '../../request/activity.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { type Changed, type Dependencies, runChange, runSettled, unchanged } from '../../request/settled-transaction.ts'
import { linkState, type ProposedAgent } from '../../rules/invitation-links.ts'
import { findAgent } from '../../store/agents.ts'
import { grant } from '../../store/delegations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findLinkByToken, type InvitationLinkRecord } from '../../store/invitation-links.ts'
import { findParty } from '../../store/parties.ts'
import { isSignatureOf, rootKeys } from '../../store/root-keys.ts'

/** An invitation link as shown to its visitor. */
export interface OpenedLink {
  /** `joined` means that this visitor has accepted; `empty` means that all agents of the link were deleted. */
  state: 'open' | 'joined' | 'empty' | 'revoked' | 'expired'
  /** The name of the developer. */
  developer: string
  /** The agents of the link that were not deleted. `perTransactionCents` is null if there is no limit. */
  agents: { agent: string; permissions: string[]; perTransactionCents: number | null }[]
  expiresAtMs: number | null
  /**
   * The signed id of the customer that the form will create. The form sends this token back, so a form that is sent
   * twice creates only one customer. The URL of the result page contains the token too.
   */
  formToken: string
}

/** The visitor's operations on an invitation link. The visitor needs only the token in the page's URL. */
export interface ConnectLinks {
  /**
   * Returns the link; undefined if there is none. If `formToken` comes from a submitted form, the link's state is the
   * result of that form.
   */
  open(token: string, formToken: string | null): Promise<OpenedLink | undefined>
  /**
   * Creates a customer for the visitor, and connects the link's agents to that customer.
   * @throws 403 `forbidden` if the form token is not from this link's page.
   */
  join(token: string, formToken: string): Promise<OpenedLink | undefined>
}

export function createConnectLinks(dependencies: Dependencies): ConnectLinks {
  return {
    open: (token, formToken) =>
      runSettled(dependencies, async (context) => {
        const link = await linkAt(context, token)
        return link && viewOf(context, link, formToken ?? '')
      }),
    join: (token, formToken) => runChange(dependencies, (context) => join(context, token, formToken)),
  }
}

async function linkAt({ tx }: ChangeContext, token: string): Promise<InvitationLinkRecord | undefined> {
  return /^[\w-]{43}$/.test(token) ? findLinkByToken(tx, hashOfToken(token)) : undefined
}

async function join(
  context: ChangeContext,
  token: string,
  formToken: string,
): Promise<Changed<OpenedLink | undefined>> {
  const found = await linkAt(context, token)
  if (found === undefined) return unchanged(undefined)
  // While this code waits for the lock, the link may be revoked, an agent may be deleted, or a second click may send
  // the same form. The link is therefore read again.
  await context.tx.lockParty(found.partyId)
  const link = await linkAt(context, token)
  if (link === undefined) return unchanged(undefined)
  const customerPartyId = await customerOf(context, link, formToken)
  if (customerPartyId === undefined) {
    fail('forbidden', { detail: 'The page is out of date. Open the invitation again.' })
  }
  const view = await viewOf(context, link, formToken)
  if (view.state !== 'open') return unchanged(view)
  await connect(context, link, customerPartyId)
  const act = actOfVisitor(link, { operation: 'join_invitation_link', customerPartyId })
  return { result: await viewOf(context, link, formToken), acts: [act] }
}

async function connect(context: ChangeContext, link: InvitationLinkRecord, customerPartyId: string): Promise<void> {
  const { tx, system, nowMs } = context
  await joinAsTestCustomer(context, customerPartyId, 'PERSON')
  for (const { proposed } of await remainingAgents(tx, link)) {
    const { agentId, permissions, limits } = proposed
    const parties = { customerPartyId, agentPartyId: link.partyId, agentId }
    const terms = { permissions: JSON.stringify(permissions), limits: limits === null ? null : JSON.stringify(limits) }
    await grant(tx, system, { ...parties, ...terms }, nowMs)
  }
}

async function viewOf(context: ChangeContext, link: InvitationLinkRecord, formToken: string): Promise<OpenedLink> {
  const { tx, system, nowMs } = context
  const agents = await remainingAgents(tx, link)
  const customerPartyId = await customerOf(context, link, formToken)
  const joined = customerPartyId !== undefined && (await findParty(tx, customerPartyId)) !== undefined
  const state = linkState(link, nowMs)
  return {
    state: joined ? 'joined' : state === 'open' && agents.length === 0 ? 'empty' : state,
    developer: link.developerName,
    agents: agents.map(({ name, proposed: { permissions, limits } }) => ({
      agent: name,
      permissions,
      perTransactionCents: limits?.perTransaction ?? null,
    })),
    expiresAtMs: link.expiresAtMs,
    formToken: await newFormToken(tx, link, newId('pty', system, nowMs)),
  }
}

async function remainingAgents(tx: Transaction, { partyId, proposedAgents }: InvitationLinkRecord) {
  const remaining: { name: string; proposed: ProposedAgent }[] = []
  for (const proposed of JSON.parse(proposedAgents) as ProposedAgent[]) {
    const agent = await findAgent(tx, partyId, proposed.agentId)
    if (agent?.status === 'ACTIVE') remaining.push({ name: agent.name, proposed })
  }
  return remaining
}

async function newFormToken(tx: Transaction, link: InvitationLinkRecord, partyId: string): Promise<string> {
  return `${partyId}.${(await rootKeys(tx)).sign(formText(link, partyId))}`
}

function formText({ id }: InvitationLinkRecord, partyId: string): string {
  return `connect link ${id} ${partyId}`
}

/** Returns the id of the customer that the form creates; undefined if the form is not from this link's page. */
async function customerOf({ tx }: ChangeContext, link: InvitationLinkRecord, formToken: string) {
  const [partyId = '', signature = '', ...more] = formToken.split('.')
  const isSigned = more.length === 0 && (await isSignatureOf(tx, formText(link, partyId), signature))
  return isSigned ? partyId : undefined
}
