import type { messageKinds } from '../../../../tools/sandbox-messages.ts'
import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/** Emails and text messages that the service would send in production. The sandbox only stores them. */
export const sandboxMessages = table({
  id: text,
  /** The party whose record the message is about. This party can read the message. */
  partyId: text,
  agentId: nullable(text),
  kind: text as Column<(typeof messageKinds)[number]>,
  channel: text as Column<'email' | 'sms'>,
  recipient: text,
  subject: text,
  text: text,
  resourceId: text,
  createdAtMs: bigint,
  /** The real time of recording, which decides when the message is deleted. */
  recordedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: [
    'partyId id',
    'partyId agentId id',
    'partyId recipient id',
    'partyId agentId recipient id',
    'recordedAtMs',
  ],
})

export type SandboxMessageRow = RowOf<typeof sandboxMessages>
