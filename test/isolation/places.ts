import { delegable, type OAuthScope, oauthScopes, scopes } from '../../src/core/permissions.ts'
import { newId, sha256 } from '../../src/core/system.ts'
import { insertGrantToken } from '../../src/service/store/access-tokens.ts'
import { createCredential } from '../../src/service/store/credentials.ts'
import { insertGrant, revokeGrant } from '../../src/service/store/oauth-grants.ts'
import { exchanged } from '../credentials/requests.ts'
import type { TestDatabase } from '../support/databases.ts'
import {
  addAgent,
  addDelegation,
  addKey,
  addParty,
  addUserToken,
  createWorld,
  type OtherParty,
  revokeKey,
  type World,
  type WorldOptions,
} from '../support/world.ts'

/**
 * The owner of the requested resource, as seen by the calling party: the calling party itself, a customer that granted
 * it everything, a customer that granted it almost nothing, or a stranger.
 */
export type PlaceName = 'own' | 'granted' | 'ungranted' | 'stranger'

/**
 * A party, and the keys that create its resources. The keys are the party's own, with one exception: the `agentKey` of
 * `granted` belongs to the calling party's agent, which acts for the customer `granted`.
 */
export interface Place {
  name: PlaceName
  partyId: string
  walletId: string
  agentId: string
  apiKey: string
  agentKey: string
  /** The parameter that names this party as the customer to act for; empty unless the place is `granted`. */
  acting: { customerPartyId?: string }
}

const scopeNames = Object.keys(oauthScopes) as OAuthScope[]
const grantActors = ['agent grant', 'user grant'] as const

/** The names of the grants that lack some or all scopes. */
export type LimitedGrant =
  `${(typeof grantActors)[number]} ${`${'with only' | 'without'} ${OAuthScope}` | 'without scopes'}`

/** The limited grants of an agent and of a user: without scopes, with only one scope, and with all scopes but one. */
export const limitedGrants: readonly LimitedGrant[] = grantActors.flatMap((actor) => [
  `${actor} without scopes` as const,
  ...scopeNames.flatMap((scope) => [`${actor} with only ${scope}`, `${actor} without ${scope}`] as const),
])

/**
 * Returns the scopes of an agent grant or user grant, derived from its name. Returns undefined for other credentials.
 */
export function scopesOfGrant(credential: CredentialKind): readonly OAuthScope[] | undefined {
  const [, limit] = /^(?:agent|user) grant(?: (.*))?$/.exec(credential) ?? [undefined, undefined]
  if (!/^(agent|user) grant/.test(credential)) return undefined
  if (limit === undefined) return scopeNames
  return scopeNames.filter((scope) =>
    limit.startsWith('with only')
      ? limit === `with only ${scope}`
      : limit !== 'without scopes' && limit !== `without ${scope}`,
  )
}

const basicKinds = [
  'party key with all scopes',
  'party key without scopes',
  'agent key',
  'exchanged token',
  'user token',
  'revoked key',
  'expired key',
  'key of the other environment',
  'agent grant',
  'user grant',
  'ended grant',
] as const

export type CredentialKind = (typeof basicKinds)[number] | LimitedGrant

export const credentialKinds: readonly CredentialKind[] = [...basicKinds, ...limitedGrants]

export interface Grounds {
  world: World
  places: Record<PlaceName, Place>
  credentials: Record<CredentialKind, string>
  /** The payee of all payments. */
  shop: OtherParty
}

/** The permissions that the customer `ungranted` grants, as JSON. They permit almost no request. */
export const uselessGrant = JSON.stringify(['party.read'])
/** The amount in cents above which a party's payments need an approval. */
export const limitCents = 40_000
/** An amount in cents above `limitCents`. A payment of this amount can be approved without a second factor. */
export const reviewedCents = 45_000

/** Creates a world with the calling party and its agent, two customers, a stranger, and a shop. */
export async function grounds(database: TestDatabase, options?: WorldOptions): Promise<Grounds> {
  return groundsIn(await createWorld(database, options))
}

/** Creates the customers, the stranger and the shop for the seeded party of an existing world. */
export async function groundsIn(world: World): Promise<Grounds> {
  const { partyId, agentId } = await world.whoami()
  if (agentId === null) throw new Error('The seeded key is not an agent key.')
  const walletId = (await world.get('/wallets')).json.data[0].id as string
  const { agentKey, apiKey } = world
  const ownPlace: Place = { name: 'own', partyId, agentId, walletId, agentKey, apiKey, acting: {} }
  const grant = { agentPartyId: partyId, agentId }
  const [granted, ungranted, stranger, shop] = [
    await addParty(world),
    await addParty(world),
    await addParty(world),
    await addParty(world),
  ]
  await addDelegation(world, { ...grant, customerPartyId: granted.partyId, permissions: JSON.stringify(delegable) })
  await addDelegation(world, { ...grant, customerPartyId: ungranted.partyId, permissions: uselessGrant })
  const places = {
    own: ownPlace,
    granted: { ...granted, name: 'granted', agentKey, acting: { customerPartyId: granted.partyId } },
    ungranted: { ...ungranted, name: 'ungranted', acting: {} },
    stranger: { ...stranger, name: 'stranger', acting: {} },
  } as const
  for (const place of Object.values(places)) {
    const path = `/simulations/customers/${place.partyId}/transfers/deposit`
    await world.post(path, { amount: 90_000_000 }, { key: place.apiKey })
    // A second agent of the wallet, so that the list of the wallet's agents can have a second page.
    await addAgent(world, place.partyId, place.walletId, [])
    await world.store.transaction(async ({ db }) => {
      // A second wallet, so that the party's list of wallets can have a second page.
      const wallet = await db
        .selectFrom('wallets')
        .selectAll()
        .where('id', '=', place.walletId)
        .executeTakeFirstOrThrow()
      const id = newId('wal', world.system, world.system.now())
      const empty = { isDefault: 0, availableCents: 0, heldCents: 0 } as const
      await db
        .insertInto('wallets')
        .values({ ...wallet, ...empty, id })
        .execute()
      const limits = JSON.stringify({ perTransaction: limitCents })
      await db.updateTable('parties').set({ limits }).where('id', '=', place.partyId).execute()
    })
  }
  return { world, places, credentials: await allCredentials(world, ownPlace), shop }
}

async function allCredentials(world: World, ownPlace: Place): Promise<Grounds['credentials']> {
  const { partyId, agentId } = ownPlace
  const revoked = await addKey(world, { partyId, agentId: null, scopes })
  await revokeKey(world, (await world.whoami(revoked)).keyId)
  const expired = await addKey(world, { partyId, agentId, scopes: null })
  const { keyId } = await world.whoami(expired)
  const now = world.system.now()
  await world.store.transaction(async ({ db }) => {
    await db.updateTable('credentials').set({ expiresAtMs: now }).where('id', '=', keyId).execute()
  })
  return {
    'party key with all scopes': ownPlace.apiKey,
    'party key without scopes': await addKey(world, { partyId, agentId: null, scopes: [] }),
    'agent key': ownPlace.agentKey,
    'exchanged token': await exchanged(world, ownPlace.agentKey),
    'user token': (await addUserToken(world, partyId)).token,
    'revoked key': revoked,
    'expired key': expired,
    'key of the other environment': await addProductionKey(world, partyId, agentId),
    ...(await grantTokens(world, ownPlace)),
  }
}

/** Creates a grant of each kind, and returns an access token for each grant. */
async function grantTokens(world: World, { partyId, agentId }: Place) {
  const { userId } = await addUserToken(world, partyId)
  const add = (kind: CredentialKind) => {
    const granted = scopesOfGrant(kind) ?? scopeNames
    return addGrant(world, { partyId, userId, agentId: kind.startsWith('user') ? null : agentId, scopes: granted })
  }
  const all = ['agent grant', 'user grant', ...limitedGrants] as const
  const tokens: Partial<Record<CredentialKind, string>> = {}
  for (const kind of all) tokens[kind] = (await add(kind)).token
  const ended = await add('agent grant')
  await world.store.transaction((tx) => revokeGrant(tx, ended.grantId, world.system.now()))
  return { ...(tokens as Record<(typeof all)[number], string>), 'ended grant': ended.token }
}

/** Creates the grant that a user's consent would create, and an access token for it. */
export async function addGrant(
  { store, system }: Pick<World, 'store' | 'system'>,
  { scopes: granted, ...owner }: { partyId: string; userId: string; agentId: string | null; scopes: readonly string[] },
): Promise<{ grantId: string; token: string }> {
  const createdAtMs = system.now()
  const grantId = newId('ogr', system, createdAtMs)
  const token = `xt_ntl_sandbox_${newId('test', system, createdAtMs)}`
  const client = { clientId: 'ocl_test', clientName: 'Test Host', payload: '{}' }
  const times = { createdAtMs, lastUsedAtMs: null, revokedAtMs: null, expiresAtMs: null }
  await store.transaction(async (tx) => {
    await insertGrant(tx, { ...owner, ...client, ...times, id: grantId, scopes: granted.join(' ') })
    const id = newId('xtk', system, createdAtMs)
    const expiresAtMs = createdAtMs + 100 * 24 * 60 * 60 * 1000
    await insertGrantToken(tx, { id, grantId, scopes: scopeNames.join(' '), secretHash: sha256(token), expiresAtMs })
  })
  return { grantId, token }
}

/** Adds a production key to the sandbox database, so that the only reason to refuse the key is its environment. */
async function addProductionKey({ store, system }: World, partyId: string, agentId: string): Promise<string> {
  const credential = `ak_ntl_prod_${newId('test', system, system.now())}`
  const row = { partyId, agentId, name: null, scopes: null, seeded: 0, revokedAtMs: null, expiresAtMs: null } as const
  await store.transaction((tx) =>
    createCredential(tx, {
      ...row,
      id: newId('agk', system, system.now()),
      kind: 'agent_key',
      secretHash: sha256(credential),
      displayPrefix: credential.slice(0, 20),
      createdAtMs: system.now(),
    }),
  )
  return credential
}
