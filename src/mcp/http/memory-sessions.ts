import {
  mailKeptMs,
  mailLimit,
  type SessionMail,
  type SessionRecord,
  type SessionStore,
  type StoredEvent,
} from './session-store.ts'

interface Kept {
  record: SessionRecord
  events: Map<string, StoredEvent[]>
  mail: SessionMail[]
}

/** Streams of a session whose events are kept; with the oldest goes what nobody resumed. */
const streamLimit = 64

/** Sessions in this process's memory, which end with it. */
export function createMemorySessions(): SessionStore {
  // In the order of their last use, the oldest first.
  const sessions = new Map<string, Kept>()
  const oldest = (principalId?: string) => {
    for (const { record } of sessions.values()) {
      if (principalId === undefined || record.principalId === principalId) return record.idHash
    }
    return undefined
  }
  const count = (principalId: string) => {
    let found = 0
    for (const { record } of sessions.values()) if (record.principalId === principalId) found++
    return found
  }
  return {
    shared: false,
    create: async (session, bounds) => {
      const ended: string[] = []
      const end = (idHash: string | undefined) => {
        if (idHash !== undefined && sessions.delete(idHash)) ended.push(idHash)
      }
      for (const { record } of sessions.values()) {
        if (record.usedAtMs >= bounds.usedSinceMs) break
        end(record.idHash)
      }
      if (sessions.size >= bounds.sessions) end(oldest())
      if (count(session.principalId) >= bounds.sessionsPerPrincipal) end(oldest(session.principalId))
      sessions.set(session.idHash, { record: session, events: new Map(), mail: [] })
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
    appendEvent: async (event, keep) => {
      const events = sessions.get(event.idHash)?.events
      if (events === undefined) return
      const stream = events.get(event.streamId) ?? []
      stream.push(event)
      if (stream.length > keep) stream.shift()
      events.set(event.streamId, stream)
      const [first] = events.keys()
      if (events.size > streamLimit && first !== undefined) events.delete(first)
    },
    readEvents: async (idHash, streamId, afterSequence) =>
      (sessions.get(idHash)?.events.get(streamId) ?? []).filter(({ sequence }) => sequence > afterSequence),
    deliver: async (mail) => {
      const kept = sessions.get(mail.idHash)
      if (kept === undefined) return
      kept.mail = kept.mail.filter(({ sentAtMs }) => sentAtMs + mailKeptMs > mail.sentAtMs)
      if (kept.mail.length < mailLimit) kept.mail.push(mail)
    },
    takeMail: async (idHash, addressee) => {
      const kept = sessions.get(idHash)
      if (kept === undefined) return []
      const taken = kept.mail.filter((mail) => mail.addressee === addressee || mail.addressee === '')
      kept.mail = kept.mail.filter((mail) => mail.addressee !== addressee)
      return taken
    },
  }
}
