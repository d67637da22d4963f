import { foreignName } from '../../core/foreign-text.ts'
import { newId, type System } from '../../core/system.ts'
import { type MessageFacts, type MessageKind, messageWords } from '../rules/messages.ts'
import { deletingOldest } from './engine/deleting.ts'
import { inserting } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import { walking } from './engine/walk.ts'
import type { SandboxMessageRow } from './schema/sandbox-messages.ts'

/** A message about a record of a party's. */
interface Message extends MessageFacts {
  kind: MessageKind
  /** An e-mail address or a phone number, or what stands for one that nobody knows. */
  to: string
  about: { partyId: string; id: string; agentId: string | null }
}

/** Keeps what would have been sent, in the transaction of what it tells of. */
export function keepMessage(
  { tx, system, nowMs }: { tx: Transaction; system: System; nowMs: number },
  { kind, to, about, ...facts }: Message,
): Promise<void> {
  // Names that others chose stand in a message on one line, and cut.
  const named = {
    ...facts,
    from: foreignName(facts.from, 'Somebody', 100),
    ...(facts.agent === undefined ? {} : { agent: foreignName(facts.agent, 'an agent', 100) }),
  }
  return insert(tx, {
    id: newId('msg', system, nowMs),
    partyId: about.partyId,
    agentId: about.agentId,
    kind,
    channel: to.startsWith('+') ? 'sms' : 'email',
    recipient: to,
    ...messageWords(kind, named),
    resourceId: about.id,
    createdAtMs: nowMs,
    recordedAtMs: tx.clock.lastMs,
  })
}

const insert = inserting('sandboxMessages')

/** Whose messages are meant: a party's, for an agent only those of its own cause; perhaps to one address. */
interface MessageScope {
  partyId: string
  agentId: string | null
  recipient: string | undefined
}

/** Messages about a party's records, newest first. */
export function listMessages(
  tx: Transaction,
  { partyId, agentId, recipient }: MessageScope,
  page: PageRequest,
): Promise<PageOf<SandboxMessageRow>> {
  const own = agentId === null ? {} : { agentId }
  const there = recipient === undefined ? {} : { recipient }
  return walk(tx, [{ partyId, ...own, ...there }], page, partyId)
}

const walk = walking('sandboxMessages', (db) => db.selectFrom('sandboxMessages').selectAll())

/** How long a message is kept, in real time (docs/sandbox.md#messages). */
export const messageKeptMs = 30 * 24 * 60 * 60_000

export const deleteSandboxMessages = deletingOldest('sandboxMessages', ['partyId', 'id'], 'recordedAtMs')
