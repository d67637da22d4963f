import type { Environment } from '../core/operation.ts'
import { delegable, scopes } from '../core/permissions.ts'
import { equalSecrets, newId, newSecret, type System, sha256 } from '../core/system.ts'
import { createAgent } from './store/agents.ts'
import { readTimes } from './store/clock.ts'
import { createCredential, type NewCredential, replaceSecret, seededCredentials } from './store/credentials.ts'
import { createDelegation } from './store/delegations.ts'
import type { Store, Transaction } from './store/engine/store.ts'
import { createParty } from './store/parties.ts'
import { rootKeys } from './store/root-keys.ts'
import type { CredentialRow } from './store/schema/credentials.ts'
import { createUser } from './store/users.ts'
import { findWorld, putWorld } from './store/world.ts'
import { credentialPrefix, displayPrefix } from './tokens/secrets.ts'

/** Secrets for the seeded keys that the start was given. */
export interface SeedSecrets {
  apiKey: string | undefined
  agentKey: string | undefined
}

export interface SeededCredentials {
  /** The whole credential; null where it was given or made otherwise at an earlier start, or has ended. */
  apiKey: string | null
  agentKey: string | null
  /** A key got its first secret by this start. */
  isFirst: boolean
}

type Kind = 'api_key' | 'agent_key'
type SeededKeys = { [K in Kind]: CredentialRow & { kind: K } }

/** Makes the seeded world in an empty store and sets the secrets of its keys. */
export async function seed(
  store: Store,
  system: System,
  environment: Environment,
  secrets: SeedSecrets,
): Promise<SeededCredentials> {
  return store.transaction(async (tx) => {
    const keys = await seededKeys(tx, system)
    const isFirst = isUnset(keys.api_key) || isUnset(keys.agent_key)
    const own = environment === 'sandbox' ? await derivedSecrets(tx) : randomSecrets(system)
    const credentialOf = (key: CredentialRow & { kind: Kind }, given: string | undefined) =>
      setSecret(tx, key, given, (secret) => `${credentialPrefix(key.kind, environment)}${secret}`, own[key.kind])
    return {
      apiKey: await credentialOf(keys.api_key, secrets.apiKey),
      agentKey: await credentialOf(keys.agent_key, secrets.agentKey),
      isFirst,
    }
  })
}

/**
 * The sandbox's own secrets by each root key, the newest first: they can be told at each start and are stored nowhere,
 * since who has the database has the sandbox. In production nobody can tell them again.
 */
async function derivedSecrets(tx: Transaction): Promise<Record<Kind, string[]>> {
  const { signatures } = await rootKeys(tx)
  return { api_key: signatures('seeded api_key'), agent_key: signatures('seeded agent_key') }
}

function randomSecrets(system: System): Record<Kind, string[]> {
  return { api_key: [newSecret(system)], agent_key: [newSecret(system)] }
}

/** The id of the seeded agent's key, in a store that is seeded first where it is empty. */
export async function seededAgentKeyId(store: Store, system: System): Promise<string> {
  return store.transaction(async (tx) => (await seededKeys(tx, system)).agent_key.id)
}

/** What stands for the hash of a key whose secret nobody was shown yet; no secret has it. */
const unset = 'unset'

const isUnset = ({ secretHash }: CredentialRow) => secretHash.startsWith(unset)

/** Sets the secret that was given, or the first of its own where it never had one. A key keeps whichever works. */
async function setSecret(
  tx: Transaction,
  key: CredentialRow,
  given: string | undefined,
  whole: (secret: string) => string,
  own: readonly string[],
): Promise<string | null> {
  if (given === undefined && !isUnset(key)) {
    if (key.revokedAtMs !== null || key.expiresAtMs !== null) return null
    return own.map(whole).find((credential) => equalSecrets(sha256(credential), key.secretHash)) ?? null
  }
  const secret = given ?? own[0]
  if (secret === undefined) throw new Error('Bug: a seeded key has no secret.')
  const credential = whole(secret)
  await replaceSecret(tx, key, { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) })
  return credential
}

async function seededKeys(tx: Transaction, system: System): Promise<SeededKeys> {
  const find = <K extends Kind>(rows: readonly CredentialRow[], kind: K) =>
    rows.find((row): row is CredentialRow & { kind: K } => row.kind === kind)
  let rows = await seededCredentials(tx)
  if (rows.length === 0) {
    // Two processes that start on an empty database make one world.
    await tx.lock('seed')
    rows = await seededCredentials(tx)
    if (rows.length === 0) rows = await createWorld(tx, system)
  }
  const [api_key, agent_key] = [find(rows, 'api_key'), find(rows, 'agent_key')]
  if (api_key === undefined || agent_key === undefined) throw new Error('Bug: a seeded key is missing.')
  // A database that was filled before worlds were noted has its own like any other.
  if ((await findWorld(tx)) === undefined)
    await putWorld(tx, { digest: null, firstPartyId: api_key.partyId, isRehearsal: 0, startsAtMs: null })
  return { api_key, agent_key }
}

const ownFundsCents = 250_000
const customerFundsCents = 100_000

/**
 * One organization with an owner, a wallet of USD 2,500.00, the agent "Sandbox shopper" and a key for each of the two,
 * and one connected customer with USD 1,000.00 that granted the agent everything that can be granted.
 */
async function createWorld(tx: Transaction, system: System): Promise<CredentialRow[]> {
  const { nowMs } = await readTimes(tx)
  const createdAtMs = nowMs
  const id = (prefix: string) => newId(prefix, system, createdAtMs)
  const [partyId, customerPartyId, agentId, userId] = [id('pty'), id('pty'), id('agt'), id('usr')]
  const owner = { name: 'Sandbox Owner', email: 'owner@sandbox.example' }
  const party = { issuedCardsEnabled: 1, createdAtMs } as const
  const wallet = await createParty(
    tx,
    system,
    {
      ...party,
      id: partyId,
      partyType: 'ORG',
      displayName: 'Sandbox Organization',
      email: owner.email,
      handle: 'sandbox',
    },
    ownFundsCents,
  )
  await createParty(
    tx,
    system,
    {
      ...party,
      id: customerPartyId,
      partyType: 'PERSON',
      displayName: 'Sandbox Customer',
      email: 'customer@sandbox.example',
    },
    customerFundsCents,
  )
  await createUser(tx, { ...owner, id: userId, partyId, role: 'OWNER', createdAtMs })
  const agent = { name: 'Sandbox shopper', description: 'Buys things with single-purchase cards.' }
  const made = { ...agent, id: agentId, partyId, createdBy: userId }
  await createAgent({ tx, system, nowMs }, made, wallet.id, delegable)
  await createDelegation(tx, {
    id: id('dlg'),
    customerPartyId,
    agentPartyId: partyId,
    agentId,
    permissions: JSON.stringify(delegable),
    limits: null,
    status: 'ACTIVE',
    createdAtMs,
    revokedAtMs: null,
  })
  const key = { partyId, displayPrefix: '', seeded: 1, revokedAtMs: null, expiresAtMs: null, createdAtMs } as const
  const keys: NewCredential[] = [
    {
      ...key,
      id: id('apy'),
      kind: 'api_key',
      agentId: null,
      name: 'Sandbox API key',
      secretHash: `${unset} api key`,
      scopes: JSON.stringify(scopes),
    },
    { ...key, id: id('agk'), kind: 'agent_key', agentId, name: null, secretHash: `${unset} agent key`, scopes: null },
  ]
  return Promise.all(keys.map((row) => createCredential(tx, row)))
}
