import { fail } from '../../../core/errors.ts'
import {
  acceptInvitation,
  declineInvitation,
  findOrCreateInvitedParty,
  hashOfToken,
  recipientOf,
} from '../../operations/steps/answer-invitations.ts'
import { actOfUser, actOfVisitor, inOrder } from '../../request/activity.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import {
  type Changed,
  type Dependencies,
  type FindParty,
  runChange,
  runSettled,
  unchanged,
} from '../../request/settled-transaction.ts'
import { type Answerer, answererOf } from '../../request/simulated-party.ts'
import type { CancelReason, InvitationStatus } from '../../rules/customer-invitations.ts'
import { findInvitationByToken, type InvitationRecord } from '../../store/customer-invitations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { partyOfRecipient } from '../../store/parties.ts'
import { isSignatureOf, looksLikeSignature, rootKeys } from '../../store/root-keys.ts'
import type { UserRow } from '../../store/schema/users.ts'

/** An invitation as shown to the invited person. */
export interface Invitation {
  status: InvitationStatus
  cancelReason: CancelReason | null
  /** The name of the inviting developer. */
  developer: string
  agent: string
  /** The name of the invited party, or the address to which the invitation was sent. */
  invited: string
  /** Whether the visitor may answer: like anybody, as a user of the invited account, or not at all. */
  answerer: Answerer
  message: string | null
  permissions: string[]
  /** The limit per payment in cents; null if there is no limit. */
  perTransactionCents: number | null
  expiresAtMs: number
  /**
   * A token that the page's form sends back. It is valid only while the invitation is unchanged, so a form takes effect
   * only once.
   */
  formToken: string
}

interface SentForm {
  formToken: string
  decision: Decision
  /** The signed-in user; undefined if nobody is signed in. */
  user: UserRow | undefined
}

export type Decision = 'accept' | 'decline'

/**
 * The invited person's operations on an invitation. A visitor needs only the token in the page's URL. If the invited
 * party is self-managed, the visitor must also be signed in as a user of its account
 * (docs/service.md#self-managed-parties).
 */
export interface Connect {
  open(token: string, user: UserRow | undefined): Promise<Invitation | undefined>
  /**
   * Answers an invitation. If the form is sent twice, by a double click or from two tabs, the second call changes
   * nothing and returns the same result.
   * @throws 403 `forbidden` if the form token is wrong or out of date, or if the visitor may not answer; 409 `conflict`
   * if a party would accept its own invitation.
   */
  answer(token: string, sent: SentForm): Promise<Invitation | undefined>
}

export function createConnect(dependencies: Dependencies): Connect {
  return {
    open: (token, user) =>
      runSettled(
        dependencies,
        async (context) => {
          const record = await invitationAt(context, token)
          return record && viewOf(context.tx, record, user)
        },
        developerAt(token),
      ),
    answer: (token, sent) => runChange(dependencies, (context) => answer(context, token, sent), developerAt(token)),
  }
}

function developerAt(token: string): FindParty {
  return async (tx) => (await invitationAt({ tx }, token))?.partyId
}

async function invitationAt({ tx }: Pick<ChangeContext, 'tx'>, token: string): Promise<InvitationRecord | undefined> {
  return looksLikeSignature(token) ? findInvitationByToken(tx, hashOfToken(token)) : undefined
}

async function answer(
  context: ChangeContext,
  token: string,
  { formToken, decision, user }: SentForm,
): Promise<Changed<Invitation | undefined>> {
  const { tx } = context
  const found = await invitationAt(context, token)
  if (found === undefined) return unchanged(undefined)
  // While this code waits for the lock, another request may answer or cancel the invitation, or delete the agent. The
  // invitation is therefore read again.
  await tx.lockParty(found.partyId)
  const record = await invitationAt(context, token)
  if (record?.status !== 'PENDING') return unchanged(record && (await viewOf(tx, record, user)))
  if (!(await isSignatureOf(tx, formText(record), formToken))) {
    fail('forbidden', { detail: 'The page is out of date. Open the invitation again.' })
  }
  const answerer = await answererIn(tx, record, user)
  if (answerer === 'nobody') fail('forbidden', { detail: 'Only a signed-in user of the invited account can answer.' })
  const after =
    decision === 'decline'
      ? await declineInvitation(context, record)
      : await acceptInvitation(context, record, await findOrCreateInvitedParty(context, record))
  const { customerPartyId } = after
  const act = { operation: `${decision}_customer_invitation`, resourceIds: [after.id] }
  const acts = [actOfVisitor(after, { ...act, customerPartyId })]
  if (answerer === 'own user' && user !== undefined) acts.push(actOfUser(user, act))
  return { result: await viewOf(tx, after, user), acts: inOrder(acts) }
}

function formText({ id, version }: InvitationRecord): string {
  return `connect form ${id} ${version}`
}

async function answererIn(tx: Transaction, record: InvitationRecord, user: UserRow | undefined): Promise<Answerer> {
  return answererOf(tx, (await partyOfRecipient(tx, recipientOf(record)))?.id, user)
}

async function viewOf(tx: Transaction, record: InvitationRecord, user: UserRow | undefined): Promise<Invitation> {
  const party = record.recipientType === 'party_id' ? await partyOfRecipient(tx, recipientOf(record)) : undefined
  const limits = record.limits === null ? {} : (JSON.parse(record.limits) as { perTransaction?: number | null })
  return {
    status: record.status,
    cancelReason: record.cancelReason,
    developer: record.developerName,
    agent: record.agentName,
    invited: party?.displayName ?? record.recipient,
    answerer: await answererIn(tx, record, user),
    message: record.message,
    permissions: JSON.parse(record.permissions) as string[],
    perTransactionCents: limits.perTransaction ?? null,
    expiresAtMs: record.expiresAtMs,
    formToken: (await rootKeys(tx)).sign(formText(record)),
  }
}
