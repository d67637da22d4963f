import Provider, { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { type System, sha256 } from '../../core/system.ts'
import { settledNow } from '../request/due.ts'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { findGrant, grantIsLive, revokeGrant, updateGrant } from '../store/oauth-grants.ts'
import {
  consumeRecord,
  deleteRecord,
  deleteRecordsOfGrant,
  findRecord,
  purgeRecords,
  saveRecord,
} from '../store/oauth-records.ts'
import type { OAuthRecordRow } from '../store/schema/oauth-schema.ts'
import type { ClientLimits } from './clients.ts'
import { hashOfReference, isReference, referenceTo } from './references.ts'

/**
 * The authorization server's storage. Ids that a bearer presents are in the database as their hashes only. What strangers
 * may do is counted here, where all that comes before was found to be right: the client is known when a sign-in of its is
 * kept, the form is the browser's own when a code is looked up.
 */
export function createAdapter(store: Store, system: System, limits: ClientLimits): (model: string) => Adapter {
  return (model) => (model === 'Grant' ? grantAdapter(store, system) : boundAdapter(store, system, model, limits))
}

/** The requests that a sign-in begins with, and what is kept of it then. */
const beginnings = ['authorization Interaction', 'device_authorization DeviceCode']

function boundAdapter(store: Store, system: System, model: string, limits: ClientLimits): Adapter {
  const records = recordAdapter(store, system, model)
  return {
    ...records,
    upsert: async (id, payload, expiresIn) => {
      const ctx = Provider.ctx
      const begins = ctx !== undefined && beginnings.includes(`${ctx.oidc.route} ${model}`)
      if (begins && !(await limits.mayBegin(addressIn(ctx)))) throw new TooManyError('Too many sign-ins begin.')
      await records.upsert(id, payload, expiresIn)
    },
    findByUserCode: async (userCode) => {
      if (await limits.mayEnterCode(addressIn(Provider.ctx))) return records.findByUserCode(userCode)
      throw new TooManyError('Too many codes were entered.')
    },
  }
}

/** What the client of a request is counted by, as the bridge to Node's HTTP passed it on. */
export function addressIn(ctx: Pick<KoaContextWithOIDC, 'req'> | undefined): string | undefined {
  return ctx?.req.socket.remoteAddress
}

/** RFC 6749 section 4.1.2.1: an application that began the sign-in is told too. */
class TooManyError extends errors.OIDCProviderError {
  override readonly error_description: string
  constructor(what: string) {
    super(429, 'temporarily_unavailable')
    this.error_description = `${what} Try again in a minute.`
  }
}

function recordAdapter(store: Store, system: System, model: string): Adapter {
  const key = (id: string) => ({ model, idHash: hashOf(id) })
  const found = async (by: Parameters<typeof findRecord>[1], id?: string) => {
    const row = await store.read((tx) => findRecord(tx, by))
    return row && { ...(JSON.parse(row.payload) as AdapterPayload), jti: id ?? referenceTo(row.idHash) }
  }
  return {
    upsert: (id, payload, expiresIn) =>
      store.transaction(async (tx) => {
        const nowMs = await realNow(tx)
        await purgeRecords(tx, nowMs)
        const expiresAtMs = expiresIn ? nowMs + expiresIn * 1000 : null
        await saveRecord(tx, { ...key(id), ...columnsOf(payload), expiresAtMs, createdAtMs: nowMs })
      }),
    find: (id) => found(key(id), id),
    findByUid: (uid) => found({ model, uid }),
    findByUserCode: async (userCode) => {
      const record = await found({ model, userCodeHash: sha256(userCode) })
      return record && { ...record, userCode }
    },
    destroy: (id) => store.transaction((tx) => deleteRecord(tx, key(id))),
    consume: (id) => consumeOnce(store, system, key(id)),
    revokeByGrantId: (grantId) => store.transaction((tx) => deleteRecordsOfGrant(tx, grantId)),
  }
}

/** Of two who use a code or a refresh token at once, one may be a thief: what came of it ends (RFC 9700 section 4.14). */
async function consumeOnce(store: Store, system: System, key: Pick<OAuthRecordRow, 'model' | 'idHash'>): Promise<void> {
  const first = await store.transaction(async (tx) => {
    const grantId = (await findRecord(tx, key))?.grantId
    if (await consumeRecord(tx, key, Math.floor((await realNow(tx)) / 1000))) return true
    if (grantId) {
      await deleteRecordsOfGrant(tx, grantId)
      await revokeGrant(tx, grantId, await settledNow(tx, system))
    }
    return false
  })
  if (!first) throw new errors.InvalidGrant('it was used before')
}

/** Grants have a table of their own, which also says which agent they act as. Their row is made when a person consents. */
function grantAdapter(store: Store, system: System): Adapter {
  const never = async () => {
    throw new Error('Bug: grants are found by their ids only.')
  }
  return {
    upsert: (id, payload) =>
      store.transaction((tx) => updateGrant(tx, id, { payload: JSON.stringify({ ...payload, jti: undefined }) })),
    find: (id) =>
      store.read(async (tx) => {
        const grant = await findGrant(tx, id)
        // Allowed, but not yet saved by the server.
        if (grant === undefined || grant.payload === '{}' || !grantIsLive(grant, await realNow(tx))) return undefined
        return { ...(JSON.parse(grant.payload) as AdapterPayload), jti: id }
      }),
    destroy: (id) => store.transaction(async (tx) => revokeGrant(tx, id, await settledNow(tx, system))),
    findByUid: never,
    findByUserCode: never,
    consume: never,
    revokeByGrantId: never,
  }
}

function hashOf(id: string): string {
  return isReference(id) ? hashOfReference(id) : sha256(id)
}

/** What of a payload is kept: not its id, nor the ids of others that stand in it. */
function columnsOf({ jti: _, session, ...payload }: AdapterPayload) {
  const { cookie: _cookie, ...kept } = session ?? {}
  const { userCode } = payload
  if (userCode !== undefined) delete payload.userCode
  return {
    payload: JSON.stringify(session === undefined ? payload : { ...payload, session: kept }),
    grantId: payload.grantId ?? null,
    uid: payload.uid ?? (payload.client_id as string | undefined) ?? null,
    userCodeHash: userCode === undefined ? null : sha256(userCode),
  }
}
