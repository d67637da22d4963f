import { foreignName } from '../../core/foreign-text.ts'
import { newId, type System } from '../../core/system.ts'
import { type MessageFacts, type MessageKind, messageWords } from '../rules/messages.ts'
import { deletingOldest } from './engine/deletions.ts'
import { walking } from './engine/index-walk.ts'
import { inserting } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { SandboxMessageRow } from './schema/sandbox-messages.ts'

/** A message about a party's record. */
interface Message extends MessageFacts {
  kind: MessageKind
  /** An e-mail address or a phone number, or a placeholder for an unknown one. */
  to: string
  about: { partyId: string; id: string; agentId: string | null }
}

/** Stores a message that production would send. It is stored in the same transaction as the change that it reports. */
export function keepMessage(
  { tx, system, nowMs }: { tx: Transaction; system: System; nowMs: number },
  { kind, to, about, ...facts }: Message,
): Promise<void> {
  // Names chosen by other people are put on one line and truncated.
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

/** A filter for the messages of a party. An agent gets only the messages that it caused. */
interface MessageScope {
  partyId: string
  agentId: string | null
  recipient: string | undefined
}

/** Returns messages about a party's records, newest first. */
export function listMessages(
  tx: Transaction,
  { partyId, agentId, recipient }: MessageScope,
  page: PageRequest,
): Promise<PageOf<SandboxMessageRow>> {
  const ofAgent = agentId === null ? {} : { agentId }
  const ofRecipient = recipient === undefined ? {} : { recipient }
  return walk(tx, [{ partyId, ...ofAgent, ...ofRecipient }], page, partyId)
}

const walk = walking('sandboxMessages', (db) => db.selectFrom('sandboxMessages').selectAll())

/** How long a message is kept, in real time (docs/sandbox.md#messages). */
export const messageKeptMs = 30 * 24 * 60 * 60_000

export const deleteSandboxMessages = deletingOldest('sandboxMessages', ['partyId', 'id'], 'recordedAtMs')
