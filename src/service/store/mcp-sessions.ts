import type { McpEventRow, McpMailRow, McpSessionRow } from './mcp-sessions-schema.ts'
import { prepared } from './prepared.ts'
import type { Store, Transaction } from './store.ts'

export interface McpSessionBounds {
  sessions: number
  sessionsPerPrincipal: number
  /** Sessions that were not used since then have ended. */
  usedSinceMs: number
}

/** The sessions of MCP hosts in the service's database: each function is a transaction of its own. */
export function createMcpSessions(store: Store) {
  return {
    // Another process may open the same file or database at any time.
    shared: true,
    /**
     * Keeps a new session. Beyond the bounds, those that were used the longest ago end with all that is theirs; it gives
     * back the hashes of their ids.
     */
    create: (session: McpSessionRow, bounds: McpSessionBounds): Promise<string[]> =>
      store.transaction(async (tx) => {
        const ended = await surplus(tx, session.principalId, bounds)
        await removeAll(tx, ended)
        await insertSession(tx, session)
        return ended
      }),
    find: (idHash: string): Promise<McpSessionRow | undefined> =>
      store.read(async (tx) => (await sessionByHash(tx, { idHash })).rows[0]),
    touch: (idHash: string, usedAtMs: number) =>
      store.transaction(async (tx) => {
        const sessions = tx.db.updateTable('mcpSessions')
        await sessions.set({ usedAtMs }).where('idHash', '=', idHash).where('usedAtMs', '<', usedAtMs).execute()
      }),
    remove: (idHash: string) => store.transaction((tx) => removeAll(tx, [idHash])),
    /** Keeps an event of a session that has not ended, and of its stream the latest `keep`. */
    appendEvent: (event: McpEventRow, keep: number) =>
      store.transaction(async (tx) => {
        if ((await sessionByHash(tx, { idHash: event.idHash })).rows.length === 0) return
        if (event.sequence === 1) await forgetEvents(tx, event)
        await insertEvent(tx, event)
        if (event.sequence <= keep) return
        const { idHash, streamId, sequence } = event
        const events = tx.db.deleteFrom('mcpEvents').where('idHash', '=', idHash).where('streamId', '=', streamId)
        await events.where('sequence', '<=', sequence - keep).execute()
      }),
    readEvents: (idHash: string, streamId: string, after: number): Promise<McpEventRow[]> =>
      store.read(async (tx) => (await eventsAfter(tx, { idHash, streamId, after })).rows),
    /** Leaves a message for the processes that serve the session; drops it where too much is unread. */
    deliver: (mail: McpMailRow) =>
      store.transaction(async (tx) => {
        const { idHash, sentAtMs } = mail
        if ((await sessionByHash(tx, { idHash })).rows.length === 0) return
        const { db } = tx
        await db
          .deleteFrom('mcpMail')
          .where('idHash', '=', idHash)
          .where('sentAtMs', '<=', sentAtMs - mailKeptMs)
          .execute()
        const unread = await db.selectFrom('mcpMail').select('id').where('idHash', '=', idHash).execute()
        if (unread.length < mailLimit) await db.insertInto('mcpMail').values(mail).execute()
      }),
    /** The messages for that addressee, which are removed, and those for everybody, which stay for a while. */
    takeMail: (idHash: string, addressee: string): Promise<McpMailRow[]> =>
      store.transaction(async (tx) => {
        const { rows } = await mailFor(tx, { idHash, addressee })
        const own = rows.filter((mail) => mail.addressee === addressee).map(({ id }) => id)
        if (own.length > 0) await tx.db.deleteFrom('mcpMail').where('id', 'in', own).execute()
        return rows
      }),
  }
}

/** Events of all streams of a session, and how long one can be resumed after. */
const eventLimit = 1_000
const eventKeptMs = 10 * 60_000
/** Unread messages of a session. */
const mailLimit = 100
/** How long a message for everybody stays. */
const mailKeptMs = 60_000
/** At one time; what is left ends with the next session that begins. */
const surplusLimit = 100

/** The sessions that end for a new one: those whose time is over, and the longest unused of those beyond a bound. */
async function surplus(tx: Transaction, principalId: string, bounds: McpSessionBounds): Promise<string[]> {
  const sessions = tx.db.selectFrom('mcpSessions')
  const oldest = sessions.select('idHash').orderBy('usedAtMs').limit(surplusLimit)
  const over = await oldest.where('usedAtMs', '<', bounds.usedSinceMs).execute()
  const count = sessions
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('usedAtMs', '>=', bounds.usedSinceMs)
  const all = Number((await count.executeTakeFirstOrThrow()).count)
  const own = Number((await count.where('principalId', '=', principalId).executeTakeFirstOrThrow()).count)
  const living = oldest.where('usedAtMs', '>=', bounds.usedSinceMs)
  const ended = new Set(over.map(({ idHash }) => idHash))
  const end = async (query: typeof living, beyond: number) => {
    if (beyond <= 0) return
    for (const { idHash } of await query.limit(Math.min(beyond, surplusLimit)).execute()) ended.add(idHash)
  }
  await end(living, all + 1 - bounds.sessions)
  await end(living.where('principalId', '=', principalId), own + 1 - bounds.sessionsPerPrincipal)
  return [...ended]
}

/** With each new stream of a session, what nobody will resume any more. */
async function forgetEvents({ db }: Transaction, { idHash, sentAtMs }: McpEventRow): Promise<void> {
  const newest = db.selectFrom('mcpEvents').select('sentAtMs').where('idHash', '=', idHash).orderBy('sentAtMs', 'desc')
  const beyond = await newest.limit(1).offset(eventLimit).executeTakeFirst()
  const forgotten = Math.max(sentAtMs - eventKeptMs, beyond?.sentAtMs ?? 0)
  await db.deleteFrom('mcpEvents').where('idHash', '=', idHash).where('sentAtMs', '<=', forgotten).execute()
}

async function removeAll({ db }: Transaction, idHashes: string[]): Promise<void> {
  if (idHashes.length === 0) return
  for (const table of ['mcpEvents', 'mcpMail', 'mcpSessions'] as const) {
    await db.deleteFrom(table).where('idHash', 'in', idHashes).execute()
  }
}

const sessionByHash = prepared((db, by: { idHash: string }) =>
  db.selectFrom('mcpSessions').selectAll().where('idHash', '=', by.idHash),
)

const insertSession = prepared((db, row: McpSessionRow) => db.insertInto('mcpSessions').values(row))

const insertEvent = prepared((db, row: McpEventRow) => db.insertInto('mcpEvents').values(row))

const eventsAfter = prepared((db, of: { idHash: string; streamId: string; after: number }) =>
  db
    .selectFrom('mcpEvents')
    .selectAll()
    .where('idHash', '=', of.idHash)
    .where('streamId', '=', of.streamId)
    .where('sequence', '>', of.after)
    .orderBy('sequence'),
)

const mailFor = prepared((db, of: { idHash: string; addressee: string }) =>
  db
    .selectFrom('mcpMail')
    .selectAll()
    .where('idHash', '=', of.idHash)
    .where((row) => row.or([row('addressee', '=', of.addressee), row('addressee', '=', '')]))
    .orderBy('id'),
)
