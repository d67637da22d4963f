import { failAttribute, show } from '../../../core/errors.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty, findPartyByAddress, findPartyByHandle } from '../../store/parties.ts'

/** The recipient of a payment: a party, an agent of a party, or an address whose owner must claim the payment. */
export interface Recipient {
  recipientPartyId: string | null
  recipientAgentId: string | null
  claimant: string | null
}

export interface Counterparty {
  type: 'email' | 'phone' | 'party_id' | 'agent_id' | 'handle'
  value: string
}

/**
 * Resolves a counterparty to a recipient. Error messages contain `attribute`, the name of the attribute that holds the
 * counterparty, and `ability`, which says what the counterparty must be able to do.
 * @throws 422 with a pointer to the value if the value is malformed or matches nobody.
 */
export async function resolveCounterparty(
  tx: Transaction,
  { type, value }: Counterparty,
  [attribute, ability]: readonly [string, string] = ['counterparty', 'be paid'],
): Promise<Recipient> {
  const { pattern, form } = forms[type]
  const failValue = (problem: string) => failAttribute(`${attribute}/value`, `${attribute}.value ${problem}.`)
  if (!pattern.test(value)) failValue(`must be ${form} if ${attribute}.type is ${type}, got ${show(value)}`)
  return (await finders[type](tx, value)) ?? failValue(`matches nobody who can ${ability}: ${show(value)}`)
}

/** Returns a value as it is stored and compared: email addresses and handles in lower case. */
export function normalized({ type, value }: Counterparty): string {
  return type === 'email' || type === 'handle' ? value.toLowerCase() : value
}

type Found = Recipient | undefined

/**
 * The lookup for each type of counterparty. Email addresses and phone numbers may be unknown, because their owners may
 * join later. All other counterparties must exist.
 */
const finders: Record<Counterparty['type'], (tx: Transaction, value: string) => Promise<Found>> = {
  email: (tx, value) => byAddress(tx, 'email', value.toLowerCase()),
  phone: (tx, value) => byAddress(tx, 'phone', value),
  party_id: async (tx, value) => party((await findParty(tx, value))?.id),
  agent_id: (tx, value) => byAgent(tx, { id: value }),
  handle: async (tx, value) => {
    const handle = value.toLowerCase()
    return party((await findPartyByHandle(tx, handle.slice(1)))?.id) ?? byAgent(tx, { handle })
  },
}

const forms = {
  email: { pattern: /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/, form: 'an email address' },
  phone: { pattern: /^\+[1-9][0-9]{6,14}$/, form: 'a phone number such as +14155550123' },
  party_id: { pattern: /^pty_[0-9a-f]{32}$/, form: 'a party id (pty_…)' },
  agent_id: { pattern: /^agt_[0-9a-f]{32}$/, form: 'an agent id (agt_…)' },
  handle: { pattern: /^@[A-Za-z0-9][\w-]{0,99}$/, form: 'a handle such as @name or @name-agent' },
} as const

async function byAddress(tx: Transaction, type: 'email' | 'phone', value: string): Promise<Recipient> {
  const partyAtAddress = await findPartyByAddress(tx, type, value)
  return party(partyAtAddress?.id) ?? { recipientPartyId: null, recipientAgentId: null, claimant: value }
}

async function byAgent(tx: Transaction, by: { id: string } | { handle: string }): Promise<Found> {
  const agent = await findAgentOfAnyParty(tx, by)
  if (agent?.status !== 'ACTIVE') return undefined
  return { recipientPartyId: agent.partyId, recipientAgentId: agent.id, claimant: null }
}

function party(id: string | undefined): Recipient | undefined {
  return id === undefined ? undefined : { recipientPartyId: id, recipientAgentId: null, claimant: null }
}
