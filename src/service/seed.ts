import type { Environment } from '../core/operation.ts'
import { equalSecrets, newSecret, type System, sha256 } from '../core/system.ts'
import { compareWorlds, digestOfSeeding } from '../worlds/digest.ts'
import { refuseWorld } from '../worlds/invalid-world.ts'
import { seededSecretsOf } from '../worlds/names.ts'
import type { World } from '../worlds/schema.ts'
import type { PasswordHashes } from './fill/passwords.ts'
import { replaceSecret, seededCredentials, unsetHashPrefix } from './store/credentials.ts'
import type { Store, Transaction } from './store/engine/store.ts'
import { lastingTexts, rootKeys } from './store/root-keys.ts'
import type { CredentialRow } from './store/schema/credentials.ts'
import { saveInitialWorld } from './store/snapshots.ts'
import { findWorld } from './store/world.ts'
import { displayPrefix, wholeCredential } from './tokens/secrets.ts'

/** The secrets that startup was given for the seeded keys: the first party's first API key, and the first agent key. */
export interface SeedSecrets {
  apiKey: string | undefined
  agentKey: string | undefined
}

/**
 * The complete credentials of the seeded keys. A credential is null if its secret was set by an earlier start and is
 * unknown now, or if the key no longer works or does not exist.
 */
export interface SeededCredentials {
  apiKey: string | null
  agentKey: string | null
  /** Whether this start gave a key its first secret. */
  isFirst: boolean
  /** Whether there is no party yet, as in a new production store. */
  isEmpty: boolean
  /** Whether the store has seeded keys. Startup can set the secrets of these keys. */
  hasKeys: boolean
}

/** The store to seed, and the world to fill it with; by default, the package's own world. */
export interface Seeding {
  store: Store
  system: System
  environment: Environment
  world?: World | undefined
}

/** The input for filling a store, with passwords that were hashed before the transaction. */
type FillInput = Omit<Seeding, 'store'> & { passwords: PasswordHashes }

/** The error if the database holds a different world than the one given at startup. */
export class AnotherWorldError extends Error {
  readonly held: string
  readonly requested: string
  constructor(held: string, requested: string) {
    super(
      `The database has ${held}, but startup was given ${requested}. Start with the world in the database, or with another database: each database has one world.`,
    )
    this.name = 'AnotherWorldError'
    this.held = held
    this.requested = requested
  }
}

type Kind = 'api_key' | 'agent_key'
type SeededKeys = { [K in Kind]: (CredentialRow & { kind: K }) | undefined }

/**
 * Fills an empty store with the world and sets the secrets of the seeded keys.
 * @throws AnotherWorldError if the store has a different world; InvalidWorldError if the world is impossible.
 */
export async function seed(seeding: Seeding, secrets: SeedSecrets): Promise<SeededCredentials> {
  const { store, system, environment, world } = seeding
  const passwords = await passwordsAhead(seeding)
  const hasFixedSecrets = secrets.apiKey !== undefined || secrets.agentKey !== undefined
  return store.transaction(async (tx) => {
    const keys = await seededKeys(tx, { ...seeding, passwords }, hasFixedSecrets)
    const isFirst = isUnset(keys.api_key) || isUnset(keys.agent_key)
    const ownSecrets = environment === 'sandbox' ? await derivedSecrets(tx) : randomSecrets(system)
    const defaultSecrets = { ...ownSecrets, ...(world && seededSecretsOf(world)) }
    const credentialOf = (kind: Kind, fixedSecret: string | undefined) =>
      setSecret(
        tx,
        keys[kind],
        fixedSecret,
        (secret) => wholeCredential(kind, environment, secret),
        defaultSecrets[kind],
      )
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
 * Returns the default secrets of a sandbox's seeded keys: one secret for each root key, the newest key's first. Every
 * start may show these secrets again, because anyone with access to the database has access to the sandbox anyway. In
 * production, the secrets are random and shown only once.
 */
async function derivedSecrets(tx: Transaction): Promise<Record<Kind, string[]>> {
  const { signatures } = await rootKeys(tx)
  const { seededApiKey, seededAgentKey } = lastingTexts
  return { api_key: signatures(seededApiKey), agent_key: signatures(seededAgentKey) }
}

function randomSecrets(system: System): Record<Kind, string[]> {
  return { api_key: [newSecret(system)], agent_key: [newSecret(system)] }
}

/** Returns the id of the seeded agent's key. Seeds the store first if it is empty. @throws the errors of `seed`. */
export async function seededAgentKeyId(seeding: Seeding): Promise<string> {
  const passwords = await passwordsAhead(seeding)
  const { agent_key } = await seeding.store.transaction((tx) => seededKeys(tx, { ...seeding, passwords }))
  return agent_key?.id ?? refuseWorld(['parties'], 'have no agent with a key that this program could use')
}

/** Hashes the world's passwords before the transaction, if the world has any and the store is still empty. */
async function passwordsAhead({ store, system, world }: Seeding): Promise<PasswordHashes> {
  const hasPasswords = world?.parties.some(({ users }) => users?.some(({ password }) => password !== undefined))
  if (world === undefined || hasPasswords !== true || (await store.read(findWorld)) !== undefined) return new Map()
  return (await import('./fill/passwords.ts')).hashPasswords(world, system)
}

const isUnset = (key: CredentialRow | undefined) => key?.secretHash.startsWith(unsetHashPrefix) === true

/**
 * Sets a key's secret to the fixed secret. Without a fixed secret, a key that never had a secret gets the first default
 * secret, and any other key keeps its secret. Returns the complete credential; null if it is unknown or does not work.
 */
async function setSecret(
  tx: Transaction,
  key: CredentialRow | undefined,
  fixedSecret: string | undefined,
  whole: (secret: string) => string,
  defaults: readonly string[],
): Promise<string | null> {
  if (key === undefined) return null
  const hasEnded = key.revokedAtMs !== null || key.expiresAtMs !== null
  if (fixedSecret === undefined && !isUnset(key)) {
    if (hasEnded) return null
    return defaults.map(whole).find((credential) => equalSecrets(sha256(credential), key.secretHash)) ?? null
  }
  const secret = fixedSecret ?? defaults[0]
  if (secret === undefined) throw new Error('Bug: a seeded key has no secret.')
  const credential = whole(secret)
  await replaceSecret(tx, key, { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) })
  return hasEnded ? null : credential
}

/**
 * Returns the seeded keys, filling an empty store first.
 * @param hasSecrets Whether startup was given a secret for a key. In that case, an empty production store gets a party
 * that has the key.
 */
async function seededKeys(tx: Transaction, seeding: FillInput, hasSecrets = false): Promise<SeededKeys> {
  let rows = await seededCredentials(tx)
  let held = await findWorld(tx)
  if (rows.length === 0 && held === undefined) {
    // With this lock, two processes that start on an empty database cannot create two worlds.
    await tx.lock('seed')
    held = await findWorld(tx)
    if (held === undefined) await fillEmpty(tx, seeding, hasSecrets)
    rows = await seededCredentials(tx)
    held = await findWorld(tx)
  }
  const find = <K extends Kind>(kind: K) => rows.find((row): row is CredentialRow & { kind: K } => row.kind === kind)
  const keys = { api_key: find('api_key'), agent_key: find('agent_key') }
  requireSame(held?.digest ?? null, seeding.world)
  return keys
}

/**
 * Fills an empty store. Without a given world or secret, a production store stays empty until `createOwner` fills it.
 */
async function fillEmpty(tx: Transaction, seeding: FillInput, hasSecrets: boolean): Promise<void> {
  if (seeding.environment === 'sandbox' || seeding.world !== undefined) return fill(tx, seeding)
  if (!hasSecrets) return
  const { productionWorld } = await import('../worlds/production-world.ts')
  await fill(tx, seeding, () => productionWorld('keys'))
}

/** Creates a production store's first party, without money, and the party's owner. Returns false if a party exists. */
export async function createOwner(
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

/** Requires that the store holds the given world. @throws AnotherWorldError if it holds a different world */
function requireSame(held: string | null, world: World | undefined): void {
  const other = compareWorlds(held, world)
  if (other !== undefined) throw new AnotherWorldError(other.held, other.requested)
}

/**
 * Fills a store, and saves the filled state for resets. Most starts fill no store, so the code for filling is imported
 * only here.
 */
async function fill(
  tx: Transaction,
  { system, environment, world, passwords }: FillInput,
  adapt = (packageWorld: World) => packageWorld,
): Promise<void> {
  const { fillWorld } = await import('./fill.ts')
  const filled = world ?? adapt((await import('../worlds/own-world.ts')).ownWorld)
  await fillWorld({ tx, system, environment, digest: digestOfSeeding(world), passwords }, filled)
  saveInitialWorld(tx, system)
}
