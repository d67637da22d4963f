import { fail } from '../../core/errors.ts'
import { isLoopback } from '../../core/loopback.ts'
import { hasKeys } from '../store/credentials.ts'
import type { Transaction } from '../store/engine/store.ts'
import type { UserRow } from '../store/schema/users.ts'
import { hasPasswords, hasUsers } from '../store/users.ts'
import { findWorld } from '../store/world.ts'
import type { Context } from './handler.ts'

/** The alternatives that the error of `requireSimulatable` suggests. */
export interface Alternatives {
  /**
   * The page where a user of the party can do what the caller tried to simulate. The text is the end of a sentence,
   * such as `at the invitation's url`.
   */
  page?: string
  /** A sentence about the call with which the party itself can do what the caller tried to simulate. */
  call?: string
}

/**
 * Returns whether a party has, or had, its own credentials or users with passwords. Such a party is self-managed:
 * others may not act for it in a simulation or on a page (docs/service.md#self-managed-parties). In a rehearsal, a
 * party with users is self-managed even if they have no passwords, because the simulated person of the scenario acts
 * for these users.
 */
export async function isSelfManaged(tx: Transaction, partyId: string): Promise<boolean> {
  const [keys, passwords, world] = await Promise.all([hasKeys(tx, partyId), hasPasswords(tx, partyId), findWorld(tx)])
  return keys || passwords || (world?.isRehearsal === 1 && (await hasUsers(tx, partyId)))
}

/**
 * Refuses to simulate a self-managed party, unless the caller is a key that may do so (`findSimulator`).
 * @param partyId Null or undefined for a person without an account, whom every caller may simulate.
 * @throws 409 `conflict`.
 */
export async function requireSimulatable(
  context: Pick<Context, 'tx' | 'actor' | 'publicUrl'>,
  partyId: string | null | undefined,
  { page, call }: Alternatives,
): Promise<void> {
  const { tx } = context
  if (partyId === null || partyId === undefined || !(await isSelfManaged(tx, partyId))) return
  const manager = await findSimulator(context)
  if (manager === 'caller') return
  const ways = [
    ...(call === undefined ? [] : [call]),
    ...(page === undefined ? [] : [await byPerson(tx, partyId, page)]),
    ...(manager === 'API key'
      ? ['An API key of your party can simulate it too, because your party manages this sandbox.']
      : []),
  ]
  fail('conflict', {
    detail: `The party ${partyId} cannot be simulated: it has its own credentials, or users who sign in. ${ways.join(' ')}`,
  })
}

async function byPerson(tx: Transaction, partyId: string, page: string): Promise<string> {
  if (await hasPasswords(tx, partyId)) return `One of its users can sign in and do it ${page}.`
  return `A user of that party can sign in and do it ${page}. To invite a user, send create_party_invitations with an API key of that party.`
}

/**
 * Returns who may simulate self-managed parties (docs/sandbox.md#who-plays-the-other-side). Only API keys of the party
 * that manages the sandbox may do so, and only if the service has a loopback address and the world is not for a
 * rehearsal. Returns `caller` if the caller is such a key, `API key` if the caller is a different credential of that
 * party, and `nobody` otherwise.
 */
async function findSimulator({
  tx,
  actor,
  publicUrl,
}: Pick<Context, 'tx' | 'actor' | 'publicUrl'>): Promise<'caller' | 'API key' | 'nobody'> {
  const world = await findWorld(tx)
  if (world?.firstPartyId !== actor.partyId || world.isRehearsal === 1 || !isLoopback(publicUrl())) return 'nobody'
  return actor.credentialKind === 'api_key' ? 'caller' : 'API key'
}

/** The visitors who may answer on a page for the party that received the link to the page. */
export type Answerer = 'anybody' | 'own user' | 'nobody'

/**
 * Returns who may answer for a party on a page that `user` opened: `own user` if the user belongs to the party,
 * `anybody` if the party is not self-managed, and `nobody` otherwise.
 * @param partyId Null or undefined for a person without an account.
 */
export async function answererOf(
  tx: Transaction,
  partyId: string | null | undefined,
  user: UserRow | undefined,
): Promise<Answerer> {
  if (partyId === null || partyId === undefined) return 'anybody'
  if (user?.partyId === partyId) return 'own user'
  return (await isSelfManaged(tx, partyId)) ? 'nobody' : 'anybody'
}
