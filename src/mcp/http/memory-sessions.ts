import type { SessionBounds, SessionMail, SessionRecord, SessionStore, StoredEvent } from './session-store.ts'

interface Kept {
  record: SessionRecord
  /** In the order of sending, whichever their stream. */
  events: StoredEvent[]
  mail: SessionMail[]
  subscribed: readonly string[]
}

/** Sessions in this process's memory, which end with it. */
export function createMemorySessions(): SessionStore {
  // In the order of their last use, the oldest first.
  const sessions = new Map<string, Kept>()
  return {
    shared: false,
    create: async (session, bounds) => {
      const ended = makeRoom(sessions, session, bounds)
      sessions.set(session.idHash, { record: session, events: [], mail: [], subscribed: [] })
      return ended
    },
    find: async (idHash) => sessions.get(idHash)?.record,
    touch: async (idHash, usedAtMs) => {
      const kept = sessions.get(idHash)
      if (kept === undefined) return
      kept.record = { ...kept.record, usedAtMs }
      sessions.delete(idHash)
      sessions.set(idHash, kept)
    },
    remove: async (idHash) => {
      sessions.delete(idHash)
    },
    subscribe: async (idHash, change) => {
      const kept = sessions.get(idHash)
      if (kept !== undefined) kept.subscribed = change(kept.subscribed)
    },
    subscriptions: async (idHashes) =>
      new Map(idHashes.map((idHash) => [idHash, sessions.get(idHash)?.subscribed ?? []])),
    appendEvent: async (event, bounds) => {
      const kept = sessions.get(event.idHash)
      if (kept === undefined) return
      const first = event.sequence - bounds.perStream
      const later = kept.events.filter(({ streamId, sequence }) => streamId !== event.streamId || sequence > first)
      kept.events = [...later, event].slice(-bounds.perSession)
      let characters = kept.events.reduce((sum, { message }) => sum + message.length, 0)
      while (characters > bounds.characters) characters -= kept.events.shift()?.message.length ?? characters
    },
    forgetEvents: async (idHash, streamId, upToSequence) => {
      const kept = sessions.get(idHash)
      if (kept === undefined) return
      kept.events = kept.events.filter((event) => event.streamId !== streamId || event.sequence > upToSequence)
    },
    readEvents: async (idHash, streamId, afterSequence) => {
      const events = sessions.get(idHash)?.events ?? []
      return events.filter((event) => event.streamId === streamId && event.sequence > afterSequence)
    },
    deliver: async (mail, unread) => {
      const kept = sessions.get(mail.idHash)
      if (kept === undefined || kept.mail.length >= unread || kept.mail.some(({ id }) => id === mail.id)) return
      kept.mail.push(mail)
    },
    takeMail: async (idHash, addressee) => {
      const kept = sessions.get(idHash)
      if (kept === undefined) return []
      const taken = kept.mail.filter((mail) => mail.addressee === addressee || mail.addressee === '')
      kept.mail = kept.mail.filter((mail) => mail.addressee !== addressee)
      return taken
    },
    sweep: async ({ usedSinceMs, eventsSinceMs, mailSinceMs }) => {
      for (const [idHash, kept] of sessions) {
        if (kept.record.usedAtMs < usedSinceMs) sessions.delete(idHash)
        kept.events = kept.events.filter(({ sentAtMs }) => sentAtMs >= eventsSinceMs)
        kept.mail = kept.mail.filter(({ sentAtMs }) => sentAtMs >= mailSinceMs)
      }
    },
  }
}

/** Ends the sessions that are over or too many with one more; answers the hashes of their ids. */
function makeRoom(
  sessions: Map<string, Kept>,
  { partyId, principalId }: SessionRecord,
  bounds: SessionBounds,
): string[] {
  const ended: string[] = []
  const end = (record: SessionRecord | undefined) => {
    if (record !== undefined && sessions.delete(record.idHash)) ended.push(record.idHash)
  }
  const records = () => [...sessions.values()].map(({ record }) => record)
  for (const record of records()) if (record.usedAtMs < bounds.usedSinceMs) end(record)
  if (sessions.size >= bounds.sessions) end(oldestOfLargest(records(), partyId))
  const own = records().filter((record) => record.principalId === principalId)
  if (own.length >= bounds.sessionsPerPrincipal) end(own[0])
  return ended
}

/** The session that was used the longest ago, of the party that would have the most with one more of `partyId`. */
function oldestOfLargest(records: readonly SessionRecord[], partyId: string): SessionRecord | undefined {
  const counts = new Map([[partyId, 1]])
  for (const record of records) counts.set(record.partyId, (counts.get(record.partyId) ?? 0) + 1)
  const [[largest] = []] = [...counts].sort(([, a], [, b]) => b - a)
  return records.find((record) => record.partyId === largest)
}
