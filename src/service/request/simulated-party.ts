import { fail } from '../../core/errors.ts'
import { isLoopback } from '../../core/loopback.ts'
import { hasKeys } from '../store/credentials.ts'
import type { Transaction } from '../store/engine/store.ts'
import type { UserRow } from '../store/schema/users.ts'
import { hasPasswords, hasUsers } from '../store/users.ts'
import { findWorld } from '../store/world.ts'
import type { Context } from './handler.ts'

/** The alternatives that the refusal to simulate a party suggests. */
export interface Alternatives {
  /**
   * The page where a user of the party can do what was to be simulated, as the end of a sentence, such as
   * `at the invitation's url`.
   */
  page?: string
  /** The call that the party itself can make, as a sentence. */
  call?: string
}

/**
 * Returns whether a party has, or had, its own credentials or users with passwords. Such a party is self-managed:
 * nobody else may act for it in a simulation or on a page (docs/service.md#self-managed-parties). In a rehearsal, users
 * without passwords suffice, because the simulated person acts for them.
 */
export async function isSelfManaged(tx: Transaction, partyId: string): Promise<boolean> {
  const [keys, passwords, world] = await Promise.all([hasKeys(tx, partyId), hasPasswords(tx, partyId), findWorld(tx)])
  return keys || passwords || (world?.isRehearsal === 1 && (await hasUsers(tx, partyId)))
}

/**
 * Refuses to simulate a self-managed party, unless `findSimulator` returns `caller`.
 * @param partyId Null or undefined for a person without an account, whom everyone may simulate.
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
 * Returns who may simulate self-managed parties (docs/sandbox.md#who-plays-the-other-side). Only an API key of the
 * party that manages the sandbox may, and only outside rehearsals and on a loopback address. The result is `caller` if
 * the caller is such a key, and `API key` if the caller is another credential of that party.
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

/** The visitors of a page who may answer for the party that received the page's link. */
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
