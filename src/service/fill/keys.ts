import { scopes as allScopes } from '../../core/permissions.ts'
import { sha256 } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { createCredential, unsetHashPrefix } from '../store/credentials.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'
import { credentialPrefix, displayPrefix, wholeCredential } from '../tokens/secrets.ts'
import type { Path } from './history.ts'
import { mustFind, type WorldBuilder } from './world-builder.ts'

type Kind = CredentialRow['kind']
type AgentKey = NonNullable<NonNullable<WorldParty['agents']>[number]['keys']>[number]
type ApiKey = Partial<NonNullable<WorldParty['apiKeys']>[number]>

/** A credential in the world. */
interface Key {
  kind: Kind
  party: number
  agentId: string | null
  userId: string | null
  name: string | null
  scopes: readonly string[] | null
  /** Whether the key is inserted without its secret, because startup sets the secret. */
  isSeeded: boolean
  /**
   * The names of the key's owners and of the key in the file, joined with slashes. If the file gives no secret, the
   * secret is derived from this string.
   */
  namePath: string
  file: Pick<AgentKey, 'id' | 'secret' | 'tags' | 'createdBy' | 'createdAt' | 'expiresAt' | 'revokedAt'>
  path: Path
}

const idPrefixes = { api_key: 'apy', agent_key: 'agk', user_token: 'utk' } as const satisfies Record<Kind, string>

/**
 * Inserts the credentials of all parties. Two of these credentials get their secrets at startup: the first party's
 * first API key, and the first agent key.
 */
export async function insertKeys(builder: WorldBuilder): Promise<void> {
  const keys = builder.accounts.flatMap((_, party) => keysOf(builder, party))
  const firstOf = (kind: Kind) => keys.find((key) => key.kind === kind)
  const seeded = [keys.find((key) => key.kind === 'api_key' && key.party === 0), firstOf('agent_key')]
  const usedKeys = new Set<string>()
  for (const key of keys) {
    const whole = wholeKey(builder, key)
    if (usedKeys.has(whole))
      refuseWorld([...key.path, 'secret'], 'is also the secret of another key in the file; each secret must be unique')
    usedKeys.add(whole)
    await insertKey(builder, { ...key, isSeeded: seeded.includes(key) }, whole)
  }
}

function keysOf(builder: WorldBuilder, index: number): Key[] {
  const { party, agentIds, userIds } = builder.account(index)
  const partyKey = { party: index, agentId: null, userId: null, name: null, scopes: null, isSeeded: false }
  const partyName = party.ref ?? index
  const at = ['parties', index]
  const apiKeys: readonly ApiKey[] = party.apiKeys ?? (index === 0 ? [{ scopes: [...allScopes] }] : [])
  return [
    ...apiKeys.map((file, number): Key => {
      const name = file.name ?? file.ref ?? 'API key'
      const scopes = file.scopes ?? null
      const namePath = [partyName, file.ref ?? number].join('/')
      return { ...partyKey, kind: 'api_key', name, scopes, namePath, file, path: [...at, 'apiKeys', number] }
    }),
    ...(party.agents ?? []).flatMap((agent, number) =>
      (agent.keys ?? [{}]).map((file: AgentKey, key): Key => {
        const namePath = [partyName, agent.ref ?? number, file.ref ?? key].join('/')
        const path = [...at, 'agents', number, 'keys', key]
        const revokedAt = file.revokedAt ?? (agent.status === 'REVOKED' ? (agent.revokedAt ?? '+0s') : undefined)
        const ended = revokedAt === undefined ? file : { ...file, revokedAt }
        return { ...partyKey, kind: 'agent_key', agentId: mustFind(agentIds[number]), namePath, file: ended, path }
      }),
    ),
    ...(party.users ?? []).flatMap((user, number) =>
      (user.tokens ?? []).map((file, token): Key => {
        const namePath = [partyName, user.email, file.ref ?? token].join('/')
        const path = [...at, 'users', number, 'tokens', token]
        // A removed user has no working token.
        const isGone = user.status !== undefined && user.status !== 'ACTIVE'
        const ended = isGone && file.revokedAt === undefined ? { ...file, revokedAt: '+0s' } : file
        return { ...partyKey, kind: 'user_token', userId: mustFind(userIds[number]), namePath, file: ended, path }
      }),
    ),
  ]
}

async function insertKey(builder: WorldBuilder, key: Key, whole: string): Promise<void> {
  const { kind, party, agentId, userId, file, path } = key
  const createdAtMs = builder.past(file.createdAt, builder.defaultCreatedAtMs, [...path, 'createdAt'])
  const when = (name: 'expiresAt' | 'revokedAt') =>
    file[name] === undefined ? null : builder.moment(file[name], createdAtMs)
  const credential = key.isSeeded ? null : whole
  await createCredential(builder.context.tx, {
    id: builder.id(idPrefixes[kind], file.id, createdAtMs),
    kind,
    partyId: builder.account(party).id,
    agentId,
    userId,
    name: key.name,
    secretHash: credential === null ? `${unsetHashPrefix} ${kind}` : sha256(credential),
    displayPrefix: credential === null ? '' : displayPrefix(credential),
    scopes: key.scopes === null ? null : JSON.stringify(key.scopes),
    tags: JSON.stringify(file.tags ?? {}),
    seeded: key.isSeeded ? 1 : 0,
    createdBy: builder.userId(party, file.createdBy),
    revokedAtMs: when('revokedAt'),
    expiresAtMs: when('expiresAt'),
    createdAtMs,
  })
}

/**
 * Returns the complete key. If the file gives no secret for the key, the secret is derived from the oldest root key.
 */
function wholeKey({ context: { keys, environment } }: WorldBuilder, { kind, namePath, file, path }: Key): string {
  const { secret = keys.derive(keys.oldestId, `seeded ${kind} ${namePath}`) } = file
  const whole = wholeCredential(kind, environment, secret)
  if (whole !== secret && /^[a-z]{2}_ntl_/.test(secret)) {
    refuseWorld([...path, 'secret'], `must begin with ${credentialPrefix(kind, environment)}, or have no prefix`)
  }
  return whole
}
