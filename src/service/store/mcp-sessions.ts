import { sql } from 'kysely'
import type { Cutoffs, EventBounds, SessionBounds, SessionRecord, SessionStore } from '../../core/session-store.ts'
import { preparedInsert } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Signals } from './engine/signals.ts'
import { mustChangeOne, type Store, type Transaction } from './engine/store.ts'

/** Stores the sessions of MCP hosts in the service's database. */
export function createMcpSessions(store: Store, signals?: Signals): SessionStore {
  return {
    create: (session, bounds) =>
      store.transaction(async (tx) => {
        const ended = await sessionsToEnd(tx, session, bounds)
        await removeSessions(tx, ended)
        await insertSession(tx, { ...session, subscribed: '[]' })
        return ended
      }),
    find: async (idHash) => {
      const [row] = (await store.read((tx) => sessionByHash(tx, { idHash }))).rows
      if (row === undefined) return undefined
      const { subscribed: _, ...session } = row
      return session
    },
    touch: (idHash, usedAtMs) =>
      store.transaction(async (tx) => {
        const sessions = tx.db.updateTable('mcpSessions')
        await sessions.set({ usedAtMs }).where('idHash', '=', idHash).where('usedAtMs', '<', usedAtMs).execute()
      }),
    remove: (idHash) => store.transaction((tx) => removeSessions(tx, [idHash])),
    ...subscriptionsIn(store),
    appendEvent: (event, bounds) =>
      store.transaction(async (tx) => {
        const { idHash, streamId, sequence, message } = event
        if ((await sessionByHash(tx, { idHash })).rows.length === 0) return
        await insertEvent(tx, event)
        if (sequence > bounds.perStream) await deleteEvents(tx, idHash, streamId, sequence - bounds.perStream)
        // To check a session's limits, many events must be read. So the check runs only when a stream begins or a
        // message is large. Until the next check, small messages may exceed the limits.
        const small = bounds.characters / bounds.perSession
        if (sequence === 1 || message.length > small) await deleteSurplusEvents(tx, idHash, bounds)
      }),
    forgetEvents: (idHash, streamId, upToSequence) =>
      store.transaction((tx) => deleteEvents(tx, idHash, streamId, upToSequence)),
    readEvents: (idHash, streamId, after) =>
      store.read(async (tx) => (await eventsAfter(tx, { idHash, streamId, after })).rows),
    ...mailIn(store, signals),
    sweep: async (before) => {
      for (const { found, remove } of leftovers(before)) {
        // There is usually nothing to delete. A read finds this out first, because a read takes no lock. Each batch is
        // deleted in a separate transaction.
        while ((await store.read(found)) !== undefined) await store.transaction(remove)
      }
    },
  }
}

function subscriptionsIn(store: Store): Pick<SessionStore, 'subscribe' | 'subscriptions'> {
  return {
    subscribe: (idHash, change) =>
      store.transaction(async (tx) => {
        const [session] = (await sessionByHash(tx, { idHash })).rows
        if (session === undefined) return
        const subscribed = JSON.stringify(change(JSON.parse(session.subscribed) as string[]))
        const update = tx.db.updateTable('mcpSessions').set({ subscribed }).where('idHash', '=', idHash)
        const changed = update.where('subscribed', '=', session.subscribed)
        mustChangeOne(await changed.executeTakeFirstOrThrow(), `MCP session ${idHash}`)
      }),
    subscriptions: async (idHashes) => {
      const subscribed = new Map<string, readonly string[]>()
      for (let first = 0; first < idHashes.length; first += maxPerQuery) {
        const batch = idHashes.slice(first, first + maxPerQuery)
        const query = (tx: Transaction) =>
          tx.db.selectFrom('mcpSessions').select(['idHash', 'subscribed']).where('idHash', 'in', batch)
        const rows = await store.read((tx) => query(tx).where('subscribed', '<>', '[]').execute())
        for (const row of rows) subscribed.set(row.idHash, JSON.parse(row.subscribed) as string[])
      }
      return subscribed
    },
  }
}

function mailIn(store: Store, signals: Signals | undefined): Pick<SessionStore, 'deliver' | 'onMail' | 'takeMail'> {
  return {
    deliver: async (mail, maxUnread) => {
      await store.transaction(async (tx) => {
        const { idHash } = mail
        if ((await sessionByHash(tx, { idHash })).rows.length === 0) return
        const unread = await tx.db.selectFrom('mcpMail').select('id').where('idHash', '=', idHash).execute()
        if (unread.length >= maxUnread) return
        await tx.db
          .insertInto('mcpMail')
          .values(mail)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      })
      signals?.send(mailTopic(mail.idHash))
    },
    onMail: (idHash, delivered) => signals?.subscribe(mailTopic(idHash), delivered) ?? (() => {}),
    takeMail: (idHash, addressee) =>
      store.transaction(async (tx) => {
        const { rows } = await mailFor(tx, { idHash, addressee })
        const addressedIds = rows.filter((mail) => mail.addressee === addressee).map(({ id }) => id)
        if (addressedIds.length > 0)
          await tx.db.deleteFrom('mcpMail').where('idHash', '=', idHash).where('id', 'in', addressedIds).execute()
        return rows
      }),
  }
}

const mailTopic = (idHash: string) => `mail ${idHash}`

/** The maximum number of session ids in one query. */
const maxPerQuery = 500

/** The maximum number of sessions that one query selects for removal. Later queries select the rest. */
const maxRemovedSessions = 100
/** The maximum number of events, or of messages, that one transaction of `sweep` deletes. */
const sweepLimit = 500

/**
 * Returns the sessions to end before a new session begins: expired sessions and, if the new session would exceed a
 * limit, the least recently used sessions. For the limit on all sessions, these are sessions of the party with the most
 * sessions. For the limit per principal, they are sessions of the principal.
 */
async function sessionsToEnd(
  tx: Transaction,
  { principalId, partyId }: SessionRecord,
  bounds: SessionBounds,
): Promise<string[]> {
  const sessions = tx.db.selectFrom('mcpSessions')
  const oldest = sessions.select('idHash').orderBy('usedAtMs').limit(maxRemovedSessions)
  const expired = await oldest.where('usedAtMs', '<', bounds.usedSinceMs).execute()
  const count = sessions
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('usedAtMs', '>=', bounds.usedSinceMs)
  const all = Number((await count.executeTakeFirstOrThrow()).count)
  const ownCount = Number((await count.where('principalId', '=', principalId).executeTakeFirstOrThrow()).count)
  const live = oldest.where('usedAtMs', '>=', bounds.usedSinceMs)
  const ended = new Set(expired.map(({ idHash }) => idHash))
  const end = async (query: typeof live, beyond: number) => {
    if (beyond <= 0) return
    for (const { idHash } of await query.limit(Math.min(beyond, maxRemovedSessions)).execute()) ended.add(idHash)
  }
  if (all + 1 > bounds.sessions) {
    const largest = await largestParty(tx, partyId, bounds.usedSinceMs)
    await end(live.where('partyId', '=', largest), all + 1 - bounds.sessions)
  }
  await end(live.where('principalId', '=', principalId), ownCount + 1 - bounds.sessionsPerPrincipal)
  return [...ended]
}

/** Returns the party that would have the most sessions if `partyId` had one more. In a tie, returns `partyId`. */
async function largestParty({ db }: Transaction, partyId: string, usedSinceMs: number): Promise<string> {
  const count = sql<number>`count(*) + case when ${sql.ref('partyId')} = ${partyId} then 1 else 0 end`
  const parties = db.selectFrom('mcpSessions').select('partyId').where('usedAtMs', '>=', usedSinceMs).groupBy('partyId')
  const ordered = parties
    .orderBy(count, 'desc')
    .orderBy(sql`case when ${sql.ref('partyId')} = ${partyId} then 0 else 1 end`)
  return (await ordered.limit(1).executeTakeFirst())?.partyId ?? partyId
}

/** Deletes a session's oldest events, from all of its streams, until the session is within its limits. */
async function deleteSurplusEvents({ db }: Transaction, idHash: string, bounds: EventBounds): Promise<void> {
  const events = db.selectFrom('mcpEvents').where('idHash', '=', idHash).orderBy('sentAtMs', 'desc')
  const newest = events.select(['sentAtMs', (row) => row.fn<number>('length', ['message']).as('characters')])
  let characters = 0
  let count = 0
  for (const event of await newest.limit(bounds.perSession + 1).execute()) {
    characters += Number(event.characters)
    count += 1
    if (characters <= bounds.characters && count <= bounds.perSession) continue
    const { sentAtMs } = event
    await db.deleteFrom('mcpEvents').where('idHash', '=', idHash).where('sentAtMs', '<=', sentAtMs).execute()
    return
  }
}

async function deleteEvents({ db }: Transaction, idHash: string, streamId: string, upTo: number): Promise<void> {
  const events = db.deleteFrom('mcpEvents').where('idHash', '=', idHash).where('streamId', '=', streamId)
  await events.where('sequence', '<=', upTo).execute()
}

async function removeSessions({ db }: Transaction, idHashes: string[]): Promise<void> {
  if (idHashes.length === 0) return
  for (const table of ['mcpEvents', 'mcpMail', 'mcpSessions'] as const) {
    await db.deleteFrom(table).where('idHash', 'in', idHashes).execute()
  }
}

interface Leftover {
  found(tx: Transaction): Promise<unknown>
  remove(tx: Transaction): Promise<void>
}

function leftovers({ usedSinceMs, eventsSinceMs, mailSinceMs }: Cutoffs): Leftover[] {
  const unusedSessions = ({ db }: Transaction) =>
    db.selectFrom('mcpSessions').select('idHash').where('usedAtMs', '<', usedSinceMs).limit(maxRemovedSessions)
  const events = ({ db }: Transaction) =>
    db.selectFrom('mcpEvents').select(['idHash', 'streamId', 'sequence']).where('sentAtMs', '<', eventsSinceMs)
  const mail = ({ db }: Transaction) =>
    db.selectFrom('mcpMail').select(['idHash', 'id']).where('sentAtMs', '<', mailSinceMs).limit(sweepLimit)
  return [
    {
      found: (tx) => unusedSessions(tx).executeTakeFirst(),
      remove: async (tx) =>
        removeSessions(
          tx,
          (await unusedSessions(tx).execute()).map(({ idHash }) => idHash),
        ),
    },
    {
      found: (tx) => events(tx).limit(1).executeTakeFirst(),
      remove: async (tx) => {
        const old = events(tx).limit(sweepLimit)
        await tx.db
          .deleteFrom('mcpEvents')
          .where((row) =>
            row(row.refTuple('idHash', 'streamId', 'sequence'), 'in', old.$asTuple('idHash', 'streamId', 'sequence')),
          )
          .execute()
      },
    },
    {
      found: (tx) => mail(tx).executeTakeFirst(),
      remove: async (tx) => {
        await tx.db
          .deleteFrom('mcpMail')
          .where((row) => row(row.refTuple('idHash', 'id'), 'in', mail(tx).$asTuple('idHash', 'id')))
          .execute()
      },
    },
  ]
}

const sessionByHash = prepared((db, by: { idHash: string }) =>
  db.selectFrom('mcpSessions').selectAll().where('idHash', '=', by.idHash),
)

const insertSession = preparedInsert('mcpSessions')

const insertEvent = preparedInsert('mcpEvents')

const eventsAfter = prepared((db, by: { idHash: string; streamId: string; after: number }) =>
  db
    .selectFrom('mcpEvents')
    .selectAll()
    .where('idHash', '=', by.idHash)
    .where('streamId', '=', by.streamId)
    .where('sequence', '>', by.after)
    .orderBy('sequence'),
)

const mailFor = prepared((db, by: { idHash: string; addressee: string }) =>
  db
    .selectFrom('mcpMail')
    .selectAll()
    .where('idHash', '=', by.idHash)
    .where((row) => row.or([row('addressee', '=', by.addressee), row('addressee', '=', '')]))
    .orderBy('sentAtMs')
    .orderBy('id'),
)
