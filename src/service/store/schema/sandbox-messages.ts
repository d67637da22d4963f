import type { messageKinds } from '../../../../tools/sandbox-messages.ts'
import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/** Mails and text messages that the service would have sent, of which the sandbox sends none. */
export const sandboxMessages = table({
  id: text,
  /** Whose record it is about: the party that is shown it. */
  partyId: text,
  agentId: nullable(text),
  kind: text as Column<(typeof messageKinds)[number]>,
  channel: text as Column<'email' | 'sms'>,
  recipient: text,
  subject: text,
  text: text,
  resourceId: text,
  createdAtMs: bigint,
  /** Real time, by which it is deleted. */
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
