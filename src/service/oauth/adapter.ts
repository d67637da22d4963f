import Provider, { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { sha256 } from '../../core/system.ts'
import { type Act, actOfGrant } from '../request/activity.ts'
import { type Dependencies, runChange, runSettled, unchanged } from '../request/settled-transaction.ts'
import { realNow } from '../store/clock.ts'
import { findGrant, grantIsLive, updateGrant } from '../store/oauth-grants.ts'
import { consumeRecord, deleteRecord, deleteRecordsOfGrant, findRecord, saveRecord } from '../store/oauth-records.ts'
import type { OAuthGrantRow } from '../store/schema/oauth-grants.ts'
import type { OAuthRecordRow } from '../store/schema/oauth-records.ts'
import type { ClientLimits } from './clients.ts'
import { endGrant } from './connections.ts'

/**
 * Returns the authorization server's storage. Ids such as codes and tokens are secrets, so only their hashes are
 * stored. The rate limits for unauthenticated clients are applied here, so that they count only requests that passed
 * all earlier checks.
 */
export function createAdapter(dependencies: Dependencies, limits: ClientLimits): (model: string) => Adapter {
  return (model) => (model === 'Grant' ? grantAdapter(dependencies) : rateLimitedAdapter(dependencies, model, limits))
}

/** The routes that begin a sign-in, each followed by the model of the record that the route stores. */
const beginnings = ['authorization Interaction', 'device_authorization DeviceCode']

function rateLimitedAdapter(dependencies: Dependencies, model: string, limits: ClientLimits): Adapter {
  const records = recordAdapter(dependencies, model)
  return {
    ...records,
    upsert: async (id, payload, expiresIn) => {
      const ctx = Provider.ctx
      const begins = ctx !== undefined && beginnings.includes(`${ctx.oidc.route} ${model}`)
      if (begins && !limits.mayBegin(addressIn(ctx))) throw new TooManyError('Too many sign-ins were started.')
      await records.upsert(id, payload, expiresIn)
    },
    findByUserCode: async (userCode) => {
      if (limits.mayEnterCode(addressIn(Provider.ctx))) return records.findByUserCode(userCode)
      throw new TooManyError('Too many codes were entered.')
    },
  }
}

/** Returns the client's address for rate limits. `callNodeHandler` sets this address on the request's socket. */
export function addressIn(ctx: Pick<KoaContextWithOIDC, 'req'> | undefined): string | undefined {
  return ctx?.req.socket.remoteAddress
}

/**
 * The error for too many requests. The application that began the sign-in may receive this error, so the error code is
 * one of the codes in RFC 6749 section 4.1.2.1.
 */
class TooManyError extends errors.OIDCProviderError {
  override readonly error_description: string
  constructor(message: string) {
    super(429, 'temporarily_unavailable')
    this.error_description = `${message} Try again in a minute.`
  }
}

function recordAdapter(dependencies: Dependencies, model: string): Adapter {
  const key = (id: string) => ({ model, idHash: hashOf(id) })
  const findPayload = async (by: Parameters<typeof findRecord>[1], id?: string) => {
    const row = await dependencies.store.read((tx) => findRecord(tx, by))
    return row && { ...(JSON.parse(row.payload) as AdapterPayload), jti: id ?? referenceTo(row.idHash) }
  }
  return {
    upsert: (id, payload, expiresIn) =>
      runSettled(dependencies, async ({ tx, realNowMs }) => {
        const expiresAtMs = expiresIn ? realNowMs + expiresIn * 1000 : null
        await saveRecord(tx, { ...key(id), ...columnsOf(payload), expiresAtMs, createdAtMs: realNowMs })
      }),
    find: (id) => findPayload(key(id), id),
    findByUid: (uid) => findPayload({ model, uid }),
    findByUserCode: async (userCode) => {
      const record = await findPayload({ model, userCodeHash: sha256(userCode) })
      return record && { ...record, userCode }
    },
    destroy: (id) => runSettled(dependencies, ({ tx }) => deleteRecord(tx, key(id))),
    consume: (id) => consumeOnce(dependencies, key(id)),
    revokeByGrantId: (grantId) => runSettled(dependencies, ({ tx }) => deleteRecordsOfGrant(tx, grantId)),
  }
}

/**
 * Marks a code or refresh token as used. A second use may come from a thief, so it ends the grant and revokes
 * everything that was issued from the grant (RFC 9700 section 4.14).
 */
async function consumeOnce(dependencies: Dependencies, key: Pick<OAuthRecordRow, 'model' | 'idHash'>): Promise<void> {
  const first = await runChange(dependencies, async ({ tx, nowMs, realNowMs }) => {
    const grantId = (await findRecord(tx, key))?.grantId
    if (await consumeRecord(tx, key, Math.floor(realNowMs / 1000))) return unchanged(true)
    return { result: false, acts: grantId ? actsOf(await endGrant(tx, grantId, nowMs)) : [] }
  })
  if (!first) throw new errors.InvalidGrant('the code or token was already used')
}

/** Returns a list with the activity entry for the end of a connection. The list is empty if no connection was ended. */
function actsOf(ended: OAuthGrantRow | undefined): Act[] {
  return ended === undefined ? [] : [actOfGrant(ended, { operation: 'end_connection' })]
}

/**
 * Returns the adapter for grants. Its `upsert` only updates existing rows. `createConsent` inserts the row of a grant,
 * because the row also stores the agent that the application acts as.
 */
function grantAdapter(dependencies: Dependencies): Adapter {
  const throwUnsupported = async () => {
    throw new Error('Bug: the storage of grants does not support this call.')
  }
  return {
    upsert: (id, payload) =>
      runSettled(dependencies, ({ tx }) =>
        updateGrant(tx, id, { payload: JSON.stringify({ ...payload, jti: undefined }) }),
      ),
    find: (id) =>
      dependencies.store.read(async (tx) => {
        const grant = await findGrant(tx, id)
        // An empty payload means that the person consented, but oidc-provider has not saved the grant yet.
        if (grant === undefined || grant.payload === '{}' || !grantIsLive(grant, await realNow(tx))) return undefined
        return { ...(JSON.parse(grant.payload) as AdapterPayload), jti: id }
      }),
    destroy: (id) =>
      runChange(dependencies, async ({ tx, nowMs }) => ({
        result: undefined,
        acts: actsOf(await endGrant(tx, id, nowMs)),
      })),
    findByUid: throwUnsupported,
    findByUserCode: throwUnsupported,
    consume: throwUnsupported,
    revokeByGrantId: throwUnsupported,
  }
}

/**
 * The prefix of references. A reference contains the hash of a record's id, and replaces the id where only the hash is
 * known. References are internal: a token that an application sends is never treated as a reference.
 */
const referencePrefix = 'hashed:'
const routesWithTokens: readonly (string | undefined)[] = ['token', 'revocation', 'introspection']

function referenceTo(idHash: string): string {
  return referencePrefix + idHash
}

function hashOf(id: string): string {
  const isFromApplication = routesWithTokens.includes(Provider.ctx?.oidc.route)
  return id.startsWith(referencePrefix) && !isFromApplication ? id.slice(referencePrefix.length) : sha256(id)
}

/**
 * Returns the database columns for a payload. The payload's id, user code and session cookie are secrets, so the JSON
 * does not contain them.
 */
function columnsOf({ jti: _, session, ...payload }: AdapterPayload) {
  const { cookie: _cookie, ...storedSession } = session ?? {}
  const { userCode } = payload
  if (userCode !== undefined) delete payload.userCode
  return {
    payload: JSON.stringify(session === undefined ? payload : { ...payload, session: storedSession }),
    grantId: payload.grantId ?? null,
    uid: payload.uid ?? (payload.client_id as string | undefined) ?? null,
    userCodeHash: userCode === undefined ? null : sha256(userCode),
  }
}
