import { foreignName } from '../../core/foreign-text.ts'
import { newId, type System } from '../../core/system.ts'
import { type MessageFacts, type MessageKind, messageWords } from '../rules/messages.ts'
import { deletingOldest } from './engine/deletions.ts'
import { createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { SandboxMessageRow } from './schema/sandbox-messages.ts'

/** A message about a party's record. */
interface Message extends MessageFacts {
  kind: MessageKind
  /** An email address or a phone number; a placeholder if the address is unknown. */
  to: string
  /** The record that the message is about, and the agent that caused the message. */
  about: { partyId: string; id: string; agentId: string | null }
}

/** Stores a message about a change instead of sending it. Must run in the transaction that makes the change. */
export function keepMessage(
  { tx, system, nowMs }: { tx: Transaction; system: System; nowMs: number },
  { kind, to, about, ...facts }: Message,
): Promise<void> {
  // Other people chose these names, so each name is put on one line and truncated.
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

const insert = preparedInsert('sandboxMessages')

/** A filter for the messages about a party's records. If `agentId` is set, only messages caused by this agent match. */
interface MessageScope {
  partyId: string
  agentId: string | null
  recipient: string | undefined
}

/** Returns a page of messages, newest first. */
export function listMessages(
  tx: Transaction,
  { partyId, agentId, recipient }: MessageScope,
  page: PageRequest,
): Promise<PageOf<SandboxMessageRow>> {
  const ofAgent = agentId === null ? {} : { agentId }
  const ofRecipient = recipient === undefined ? {} : { recipient }
  return walk(tx, [{ partyId, ...ofAgent, ...ofRecipient }], page, partyId)
}

const walk = createIndexWalk('sandboxMessages', (db) => db.selectFrom('sandboxMessages').selectAll())

/** The retention period of a message, by the real clock (docs/sandbox.md#messages). */
export const messageKeptMs = 30 * 24 * 60 * 60_000

export const deleteSandboxMessages = deletingOldest('sandboxMessages', ['partyId', 'id'], 'recordedAtMs')
