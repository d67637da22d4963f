import { fail } from '../../../core/errors.ts'
import { sha256 } from '../../../core/system.ts'
import {
  acceptPartyInvitation,
  declinePartyInvitation,
  type NewMember,
} from '../../operations/steps/answer-party-invitations.ts'
import { actOfUser, actOfVisitor } from '../../request/activity.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import {
  type Changed,
  type Dependencies,
  type FindParty,
  runChange,
  runSettled,
  unchanged,
} from '../../request/settled-transaction.ts'
import { answererOf } from '../../request/simulated-party.ts'
import { isPartyInvitationExpired, type PartyInvitationStatus } from '../../rules/party-invitations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findPartyInvitationByToken, type PartyInvitationRecord } from '../../store/party-invitations.ts'
import { isSignatureOf, looksLikeSignature, rootKeys } from '../../store/root-keys.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { findUserByEmail } from '../../store/users.ts'

/** An invitation to a party, as shown to anyone who has its link. */
export interface ShownInvitation {
  status: PartyInvitationStatus | 'EXPIRED'
  party: string
  role: 'ADMIN' | 'MEMBER'
  /** The email address that was invited. The person who joins will sign in with it. */
  email: string
  /**
   * Whether the invitation is pending but its email address already belongs to a user. A user cannot join a second
   * party.
   */
  isTaken: boolean
  /**
   * Whether the visitor may decline. If the email address belongs to a user of a self-managed party (`isSelfManaged`),
   * only that user may decline.
   */
  mayDecline: boolean
  /** A token that the form sends back. It is valid only while the invitation is unchanged. */
  formToken: string
}

/**
 * The result of a submitted form. `stale` means that nothing was done, because the invitation has changed since the
 * page was shown.
 */
export type Outcome = 'joined' | 'declined' | 'stale'

/**
 * The operations of the page where an invited person joins or declines. To join, a visitor needs only the secret token
 * in the page's URL.
 */
export interface PartyInvitationPages {
  open(token: string, user: UserRow | undefined): Promise<ShownInvitation | undefined>
  /**
   * Returns whether the invitation is unchanged since the form was shown. Call this before hashing a password: hashing
   * is slow, and if the invitation has changed, no hash is needed.
   */
  isShown(token: string, formToken: string): Promise<boolean>
  /**
   * Accepts an invitation.
   * @throws 403 if the form is not from this page, or if the party is stopped; 409 if the invitation has expired, or if
   * its email address already belongs to a user.
   */
  accept(token: string, formToken: string, newMember: NewMember): Promise<Outcome | undefined>
  /** Declines an invitation. @throws 403 if the form is not from this page, or if the visitor may not decline. */
  decline(token: string, formToken: string, user: UserRow | undefined): Promise<Outcome | undefined>
}

export function createPartyInvitationPages(dependencies: Dependencies): PartyInvitationPages {
  const submitForm = (token: string, formToken: string, work: Work) =>
    runChange(dependencies, (context) => applyForm(context, { token, formToken }, work), partyFinder(token))
  return {
    open: (token, user) =>
      runSettled(
        dependencies,
        async ({ tx, nowMs }) => {
          const invitation = await findInvitation(tx, token)
          return invitation && viewOf(tx, invitation, { nowMs, user })
        },
        partyFinder(token),
      ),
    isShown: (token, formToken) =>
      runSettled(
        dependencies,
        async ({ tx }) => {
          const invitation = await findInvitation(tx, token)
          return invitation !== undefined && (await versionOf(tx, invitation, formToken)) === invitation.version
        },
        partyFinder(token),
      ),
    accept: (token, formToken, newMember) =>
      submitForm(token, formToken, async (context, invitation) => {
        const user = await acceptPartyInvitation(context, invitation, newMember)
        const resourceIds = [invitation.id, user.id]
        return { result: 'joined', acts: [actOfUser(user, { operation: 'accept_party_invitation', resourceIds })] }
      }),
    decline: (token, formToken, user) =>
      submitForm(token, formToken, async (context, invitation) => {
        if (!(await mayDecline(context.tx, invitation, user))) {
          fail('forbidden', { detail: `Only the user who signs in as ${invitation.email} can decline.` })
        }
        await declinePartyInvitation(context, invitation)
        return { result: 'declined', acts: [actOfVisitor(invitation, { operation: 'decline_party_invitation' })] }
      }),
  }
}

type Work = (context: ChangeContext, invitation: PartyInvitationRecord) => Promise<Changed<Outcome>>

async function findInvitation(tx: Transaction, token: string): Promise<PartyInvitationRecord | undefined> {
  return looksLikeSignature(token) ? findPartyInvitationByToken(tx, sha256(token)) : undefined
}

function partyFinder(token: string): FindParty {
  return async (tx) => (await findInvitation(tx, token))?.partyId
}

/**
 * Applies a form if the invitation is unchanged since the page was shown. The lock on the party makes the second
 * request of a double click wait for the first.
 */
async function applyForm(
  context: ChangeContext,
  { token, formToken }: { token: string; formToken: string },
  work: Work,
): Promise<Changed<Outcome | undefined>> {
  const { tx } = context
  const found = await findInvitation(tx, token)
  if (found === undefined) return unchanged(undefined)
  await tx.lockParty(found.partyId)
  const version = await versionOf(tx, found, formToken)
  if (version === undefined) fail('forbidden', { detail: 'This form was not sent from this page.' })
  const invitation = await findInvitation(tx, token)
  return invitation?.version === version ? work(context, invitation) : unchanged('stale')
}

/** Returns the version that the invitation had when the form was shown; undefined if `formToken` is invalid. */
async function versionOf(
  tx: Transaction,
  { id }: PartyInvitationRecord,
  formToken: string,
): Promise<number | undefined> {
  const [version = '', signature = ''] = formToken.split('.')
  const invitationVersion = { id, version: Number(version) }
  return (await isSignatureOf(tx, formText(invitationVersion), signature)) ? invitationVersion.version : undefined
}

function formText({ id, version }: { id: string; version: number }): string {
  return `join form ${id} ${version}`
}

async function mayDecline(
  tx: Transaction,
  { email }: PartyInvitationRecord,
  user: UserRow | undefined,
): Promise<boolean> {
  const invited = await findUserByEmail(tx, email)
  const visitor = user?.id === invited?.id ? user : undefined
  return (await answererOf(tx, invited?.partyId, visitor)) !== 'nobody'
}

async function viewOf(
  tx: Transaction,
  invitation: PartyInvitationRecord,
  { nowMs, user }: { nowMs: number; user: UserRow | undefined },
): Promise<ShownInvitation> {
  const { id, version, partyName: party, role, email } = invitation
  const status = isPartyInvitationExpired(invitation, nowMs) ? 'EXPIRED' : invitation.status
  return {
    status,
    party,
    role,
    email,
    isTaken: status === 'PENDING' && (await findUserByEmail(tx, email)) !== undefined,
    mayDecline: await mayDecline(tx, invitation, user),
    formToken: `${version}.${(await rootKeys(tx)).sign(formText({ id, version }))}`,
  }
}
