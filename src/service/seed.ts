import type { Environment } from '../core/operation.ts'
import { equalSecrets, newSecret, type System, sha256 } from '../core/system.ts'
import { digestOfSeeding, otherWorld } from '../worlds/digest.ts'
import { mistake } from '../worlds/mistake.ts'
import { seededSecretsOf } from '../worlds/names.ts'
import type { World } from '../worlds/schema.ts'
import type { PasswordHashes } from './fill/passwords.ts'
import { replaceSecret, seededCredentials, unset } from './store/credentials.ts'
import type { Store, Transaction } from './store/engine/store.ts'
import { lastingTexts, rootKeys } from './store/root-keys.ts'
import type { CredentialRow } from './store/schema/credentials.ts'
import { keepAsFilled } from './store/snapshots.ts'
import { findWorld } from './store/world.ts'
import { displayPrefix, wholeCredential } from './tokens/secrets.ts'

/** Secrets for the seeded keys that the start was given. */
export interface SeedSecrets {
  apiKey: string | undefined
  agentKey: string | undefined
}

export interface SeededCredentials {
  /** The whole credential; null where it was given or made otherwise at an earlier start, has ended, or is not there. */
  apiKey: string | null
  agentKey: string | null
  /** A key got its first secret by this start. */
  isFirst: boolean
  /** Nobody has an account: production begins so. */
  isEmpty: boolean
  /** Whether there are keys whose secrets a start may set. */
  hasKeys: boolean
}

/** Where a world is to be, and which: the package's own unless it is given. */
export interface Seeding {
  store: Store
  system: System
  environment: Environment
  world?: World | undefined
}

/** With what was made ready outside the transaction. */
type Filler = Omit<Seeding, 'store'> & { passwords: PasswordHashes }

/** The database holds another world than the start was given. */
export class AnotherWorldError extends Error {
  readonly held: string
  readonly given: string
  constructor(held: string, given: string) {
    super(
      `The database holds ${held}, and the start is given ${given}. Start with the world that it holds, or with another database: each has one world.`,
    )
    this.name = 'AnotherWorldError'
    this.held = held
    this.given = given
  }
}

type Kind = 'api_key' | 'agent_key'
type SeededKeys = { [K in Kind]: (CredentialRow & { kind: K }) | undefined }

/** Fills an empty store with the world and sets the secrets of its keys. @throws AnotherWorldError, WorldMistakeError. */
export async function seed(seeding: Seeding, secrets: SeedSecrets): Promise<SeededCredentials> {
  const { store, system, environment, world } = seeding
  const passwords = await passwordsAhead(seeding)
  const given = secrets.apiKey !== undefined || secrets.agentKey !== undefined
  return store.transaction(async (tx) => {
    const keys = await seededKeys(tx, { ...seeding, passwords }, given)
    const isFirst = isUnset(keys.api_key) || isUnset(keys.agent_key)
    const derived = environment === 'sandbox' ? await derivedSecrets(tx) : randomSecrets(system)
    const own = { ...derived, ...(world && seededSecretsOf(world)) }
    const credentialOf = (kind: Kind, given: string | undefined) =>
      setSecret(tx, keys[kind], given, (secret) => wholeCredential(kind, environment, secret), own[kind])
    return {
      apiKey: await credentialOf('api_key', secrets.apiKey),
      agentKey: await credentialOf('agent_key', secrets.agentKey),
      isFirst,
      isEmpty: (await findWorld(tx)) === undefined,
      hasKeys: keys.api_key !== undefined || keys.agent_key !== undefined,
    }
  })
}

/**
 * The sandbox's own secrets by each root key, the newest first: they can be told at each start and are stored nowhere,
 * since who has the database has the sandbox. In production nobody can tell them again.
 */
async function derivedSecrets(tx: Transaction): Promise<Record<Kind, string[]>> {
  const { signatures } = await rootKeys(tx)
  const { seededApiKey, seededAgentKey } = lastingTexts
  return { api_key: signatures(seededApiKey), agent_key: signatures(seededAgentKey) }
}

function randomSecrets(system: System): Record<Kind, string[]> {
  return { api_key: [newSecret(system)], agent_key: [newSecret(system)] }
}

/** The id of the seeded agent's key, in a store that is seeded first where it is empty. @throws as `seed`. */
export async function seededAgentKeyId(seeding: Seeding): Promise<string> {
  const passwords = await passwordsAhead(seeding)
  const { agent_key } = await seeding.store.transaction((tx) => seededKeys(tx, { ...seeding, passwords }))
  return agent_key?.id ?? mistake(['parties'], 'have no agent with a key, as which this program could act')
}

/** Hashed before the transaction, and only where a world with passwords is still to be filled in. */
async function passwordsAhead({ store, system, world }: Seeding): Promise<PasswordHashes> {
  const hasPasswords = world?.parties.some(({ users }) => users?.some(({ password }) => password !== undefined))
  if (world === undefined || hasPasswords !== true || (await store.read(findWorld)) !== undefined) return new Map()
  return (await import('./fill/passwords.ts')).hashPasswords(world, system)
}

const isUnset = (key: CredentialRow | undefined) => key?.secretHash.startsWith(unset) === true

/** Sets the secret that was given, or the first of its own where it never had one. A key keeps whichever works. */
async function setSecret(
  tx: Transaction,
  key: CredentialRow | undefined,
  given: string | undefined,
  whole: (secret: string) => string,
  own: readonly string[],
): Promise<string | null> {
  if (key === undefined) return null
  const hasEnded = key.revokedAtMs !== null || key.expiresAtMs !== null
  if (given === undefined && !isUnset(key)) {
    if (hasEnded) return null
    return own.map(whole).find((credential) => equalSecrets(sha256(credential), key.secretHash)) ?? null
  }
  const secret = given ?? own[0]
  if (secret === undefined) throw new Error('Bug: a seeded key has no secret.')
  const credential = whole(secret)
  await replaceSecret(tx, key, { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) })
  return hasEnded ? null : credential
}

/** @param hasSecrets Whether the start is given the secret of a key, for which production gets a party. */
async function seededKeys(tx: Transaction, seeding: Filler, hasSecrets = false): Promise<SeededKeys> {
  let rows = await seededCredentials(tx)
  let held = await findWorld(tx)
  if (rows.length === 0 && held === undefined) {
    // Two processes that start on an empty database make one world.
    await tx.lock('seed')
    held = await findWorld(tx)
    if (held === undefined) await begin(tx, seeding, hasSecrets)
    rows = await seededCredentials(tx)
    held = await findWorld(tx)
  }
  const find = <K extends Kind>(kind: K) => rows.find((row): row is CredentialRow & { kind: K } => row.kind === kind)
  const keys = { api_key: find('api_key'), agent_key: find('agent_key') }
  requireSame(held?.digest ?? null, seeding.world)
  return keys
}

/** Fills an empty store. A production one stays empty, unless it is given keys, until somebody makes its first party. */
async function begin(tx: Transaction, seeding: Filler, hasSecrets: boolean): Promise<void> {
  if (seeding.environment === 'sandbox' || seeding.world !== undefined) return fill(tx, seeding)
  if (!hasSecrets) return
  const { productionWorld } = await import('../worlds/production-world.ts')
  await fill(tx, seeding, () => productionWorld('keys'))
}

/** Makes the first party of a production store, with its owner and without money; false where there is a party. */
export async function foundParty(
  { store, ...seeding }: Omit<Seeding, 'world'>,
  owner: { email: string; name: string },
): Promise<boolean> {
  const { productionWorld } = await import('../worlds/production-world.ts')
  return store.transaction(async (tx) => {
    await tx.lock('seed')
    if ((await findWorld(tx)) !== undefined || (await seededCredentials(tx)).length > 0) return false
    await fill(tx, { ...seeding, passwords: new Map() }, () => productionWorld(owner))
    return true
  })
}

/** @throws AnotherWorldError */
function requireSame(held: string | null, world: World | undefined): void {
  const other = otherWorld(held, world)
  if (other !== undefined) throw new AnotherWorldError(other.held, other.given)
}

/** A store that is filled already loads none of it. What it is filled with is kept for a reset. */
async function fill(
  tx: Transaction,
  { system, environment, world, passwords }: Filler,
  changed = (own: World) => own,
): Promise<void> {
  const { fillWorld } = await import('./fill.ts')
  const filled = world ?? changed((await import('../worlds/own-world.ts')).ownWorld)
  await fillWorld({ tx, system, environment, digest: digestOfSeeding(world), passwords }, filled)
  keepAsFilled(tx, system)
}
