import type { Action } from '../action.ts'
import { accountName, approvalOf, handleName, isInvited } from '../action.ts'
import type { Facts } from '../facts.ts'
import { readBanks } from './banks.ts'
import { readCards } from './cards.ts'
import { readMoney } from './money.ts'
import { type Names, newNames, type Wire } from './names.ts'
import { readSubscriptions } from './subscriptions.ts'

/** What a tool call answered. */
export interface ToolAnswer {
  isError: boolean
  /** The structured content, or the JSON in the text of an error. */
  content: unknown
  /** The key under which a refused call can be repeated. */
  repeatKey?: string | undefined
}

export interface Reader {
  /** The facts of an answer. It also learns the id of what the action made. */
  read(action: Action, answer: ToolAnswer): Facts
  /** The facts of a resource, which gets no new name. */
  readResource(resource: unknown): Facts
  /** The id that a name stands for. */
  idOf(name: string): string
  nameId(name: string, id: string): void
  /** Whether the id has a name in this run. */
  knows(id: string): boolean
}

/** @param clockMs the service's time when the run begins */
export function createReader(clockMs: number, ordered: boolean): Reader {
  const state = newNames(clockMs, ordered)
  const { ids, names } = state
  const nameId = (name: string, id: string) => {
    ids.set(name, id)
    names.set(id, name)
  }
  const learn = (name: string, id: string | undefined) => {
    if (id !== undefined && !names.has(id)) nameId(name, id)
  }
  const readResource = (resource: unknown) => factsOf(state, (resource ?? {}) as Wire)
  return {
    nameId,
    knows: (id) => names.has(id),
    readResource,
    idOf: (name) => {
      const id = ids.get(name)
      if (id === undefined) throw new Error(`Bug: ${name} has no id yet.`)
      return id
    },
    read: (action, answer) => {
      if (answer.isError) return errorFacts(answer.content)
      const content = (answer.content ?? {}) as Content
      const records = (Array.isArray(content.data) ? content.data : [content.data]) as (Wire | undefined)[]
      learnNames(state, learn, action, { records, meta: content.meta })
      const facts = records.map(readResource)
      if (Array.isArray(content.data)) return { type: 'page', items: [...facts, ...rejections(content)].sort(byName) }
      return facts[0] as Facts
    },
  }
}

interface Content {
  data?: unknown
  meta?: { customer?: { partyId?: string; handle?: string }; rejectedAccounts?: { reason?: string }[] }
}

/** Names what the answer tells for the first time. */
function learnNames(
  { names }: Names,
  learn: (name: string, id: string | undefined) => void,
  { tool, makes, invites, payee, party }: Action,
  { records, meta }: { records: readonly (Wire | undefined)[]; meta: Content['meta'] },
): void {
  const [first] = records
  if (makes !== undefined) learn(makes, first?.id)
  if (tool === 'simulate_customer_invitation' && invites !== undefined) {
    learn(invites, meta?.customer?.partyId)
    learn(handleName(invites), meta?.customer?.handle)
  }
  if (tool === 'list_wallets' && isInvited(party)) learn(`${party}-wallet`, first?.id)
  if (tool === 'simulate_payment_claim' && payee !== undefined) {
    learn(payee, first?.relationships?.recipient?.data?.id)
  }
  if (tool === 'simulate_payment_request_fulfillment' && payee !== undefined) {
    learn(payee, first?.relationships?.sender?.data?.id)
  }
  if (tool === 'link_external_accounts' || tool === 'simulate_bank_account_link') {
    for (const record of records) learn(accountName(party, String(record?.attributes?.lastFour)), record?.id)
  }
  if (tool !== 'list_approvals') return
  // The run made the payment that is approved; the approval came into being by itself.
  for (const record of records) {
    const reviewed = names.get(record?.attributes?.target?.id)
    if (reviewed !== undefined) learn(approvalOf(reviewed), record?.id)
  }
}

/** The accounts that were not linked, by why. */
function rejections({ meta }: Content): Facts[] {
  return (meta?.rejectedAccounts ?? []).map(({ reason }) => ({ type: 'rejection', name: String(reason) }))
}

function factsOf(state: Names, wire: Wire): Facts {
  const read = wire.type === undefined ? undefined : readers[wire.type]
  if (read === undefined) return { type: 'error', code: `a resource of type ${wire.type}`, status: 200, pointer: null }
  return read(state, wire)
}

const readers: Record<string, (state: Names, wire: Wire) => Facts> = {
  ...readCards,
  ...readMoney,
  ...readSubscriptions,
  ...readBanks,
}

function errorFacts(content: unknown): Facts {
  const error = (content as { error?: { code?: string; status?: number; source?: { pointer?: string } } })?.error
  const { code = 'an error without a code', status = 0, source } = error ?? {}
  return { type: 'error', code, status, pointer: source?.pointer ?? null }
}

function byName(one: Facts, other: Facts): number {
  return 'name' in one && 'name' in other && one.name < other.name ? -1 : 1
}
