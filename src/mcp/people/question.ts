import { customers } from '../../../tools/customers.ts'
import { wallets } from '../../../tools/wallets.ts'
import { ApiError } from '../../client/api-error.ts'
import type { Client } from '../../client/client.ts'
import { quoted, word } from '../answers/quoted-text.ts'

/** A question that a person answers before a call is carried out. */
export interface Question {
  /** Facts from the service and from the call's arguments, one per line. Undefined facts are not shown. */
  facts: (string | undefined)[]
  /** The sentence about the effect of approving. */
  effect: string
  /** The label of the button or checkbox that approves. */
  approveLabel: string
}

export interface QuestionRule {
  /** The name of the argument with the amount in cents. If set, only calls above `aboveCents` need a decision. */
  amount?: string
  /** Returns the question; undefined if none is needed, for example because the service will refuse the call. */
  ask(input: Arguments, read: Read): Promise<Question | undefined>
}

// biome-ignore lint/suspicious/noExplicitAny: checked by the operation's own schemas before the question is built.
export type Arguments = any
export type Read = Client['call']

export async function onBehalf({ customerPartyId, partyId }: Arguments, read: Read): Promise<string | undefined> {
  const customerId = customerPartyId ?? partyId
  if (customerId === undefined) return undefined
  const found = await optional(read(customers.getCustomer, { customerId }))
  return `On behalf of: ${found === undefined ? word(customerId) : `${quoted(found.data.attributes.name)} (${word(customerId)})`}`
}

export async function wallet(walletId: string, { customerPartyId, partyId }: Arguments, read: Read): Promise<string> {
  const found = await optional(read(wallets.getWallet, { walletId, ...presentValues({ customerPartyId, partyId }) }))
  return found === undefined
    ? word(walletId)
    : `${quoted(found.data.attributes.displayName ?? 'a wallet')} (${word(walletId)})`
}

/** Returns the result of a read that adds a detail to the question; undefined if the credential cannot read it. */
export async function optional<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined
    throw error
  }
}

interface Related {
  relationships?: unknown
}

export function related({ relationships }: Related, name: string): { type: string; id: string } | undefined {
  type Relationships = Record<string, { data?: { type: string; id: string } | null } | undefined>
  return (relationships as Relationships | undefined)?.[name]?.data ?? undefined
}

export const reason = (description: unknown) =>
  description === undefined ? undefined : `Reason, in the assistant's words: ${quoted(description)}`

const presentValues = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
