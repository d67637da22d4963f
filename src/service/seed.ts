import type { Environment } from '../core/operation.ts'
import { delegable, scopes } from '../core/permissions.ts'
import { newId, newSecret, type System, sha256 } from '../core/system.ts'
import { createAgent } from './store/agents.ts'
import { readTimes } from './store/clock.ts'
import { createCredential, type NewCredential, replaceSecret, seededCredentials } from './store/credentials.ts'
import { createDelegation } from './store/delegations.ts'
import type { Store, Transaction } from './store/engine/store.ts'
import { createParty } from './store/parties.ts'
import type { CredentialRow } from './store/schema/credentials.ts'
import { createUser } from './store/users.ts'
import { credentialPrefix, displayPrefix } from './tokens/secrets.ts'

/** Secrets for the seeded keys that the start was given; a key that never had one gets a random one. */
export interface SeedSecrets {
  apiKey: string | undefined
  agentKey: string | undefined
}

export interface SeededCredentials {
  /** The whole credential where its secret was given or made now; null where it was made before and is not known. */
  apiKey: string | null
  agentKey: string | null
}

type Kind = 'api_key' | 'agent_key'

/** Makes the seeded world in an empty store and sets the secrets of its keys. */
export async function seed(
  store: Store,
  system: System,
  environment: Environment,
  secrets: SeedSecrets,
): Promise<SeededCredentials> {
  return store.transaction(async (tx) => {
    const keys = await seededKeys(tx, system)
    return {
      apiKey: await setSecret(tx, system, environment, keys.api_key, secrets.apiKey),
      agentKey: await setSecret(tx, system, environment, keys.agent_key, secrets.agentKey),
    }
  })
}

/** The id of the seeded agent's key, in a store that is seeded first where it is empty. */
export async function seededAgentKeyId(store: Store, system: System): Promise<string> {
  return store.transaction(async (tx) => (await seededKeys(tx, system)).agent_key.id)
}

/** What stands for the hash of a key whose secret nobody was shown yet; no secret has it. */
const unset = 'unset'

async function setSecret(
  tx: Transaction,
  system: System,
  environment: Environment,
  key: CredentialRow,
  given: string | undefined,
): Promise<string | null> {
  if (given === undefined && !key.secretHash.startsWith(unset)) return null
  const credential = `${credentialPrefix(key.kind, environment)}${given ?? newSecret(system)}`
  await replaceSecret(tx, key, { secretHash: sha256(credential), displayPrefix: displayPrefix(credential) })
  return credential
}

async function seededKeys(tx: Transaction, system: System): Promise<Record<Kind, CredentialRow>> {
  const find = (rows: readonly CredentialRow[], kind: Kind) => rows.find((row) => row.kind === kind)
  let rows = await seededCredentials(tx)
  if (rows.length === 0) {
    // Two processes that start on an empty database make one world.
    await tx.lock('seed')
    rows = await seededCredentials(tx)
    if (rows.length === 0) rows = await createWorld(tx, system)
  }
  const [api_key, agent_key] = [find(rows, 'api_key'), find(rows, 'agent_key')]
  if (api_key === undefined || agent_key === undefined) throw new Error('Bug: a seeded key is missing.')
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
