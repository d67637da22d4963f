import type { PartyName } from './action.ts'
import { describeFacts, equalFacts, type Facts, type Mismatch, type TransactionFacts } from './facts.ts'
import type { Balance, Model } from './model/model.ts'
import type { Caller, RunOptions, Situation } from './world.ts'

/** A list that never ends is a fault: 100 records a page. */
const maximumPages = 10_000

/**
 * Reads every record of the run and the wallets once more, and compares them with the model and with each other: after
 * the last call the order of calls no longer matters, so this holds for concurrent runs too.
 */
export async function compareEnd(
  caller: Caller,
  model: Model,
  situation: Situation,
  { target }: RunOptions,
): Promise<Mismatch | undefined> {
  const parties: PartyName[] = situation.start.customer === undefined ? ['own'] : ['own', 'customer']
  for (const party of parties) {
    const found = await readParty(caller, party, situation)
    // A database that others use too holds more than this run made.
    if (target.isolated && found.strangers > 0) {
      return difference('Records that no action made.', '0', String(found.strangers))
    }
    const wrong =
      firstDifference(expectedOf(model, party), found.records) ??
      firstDifference(new Map([['wallet', model.walletFacts(party)]]), new Map([['wallet', found.wallet]])) ??
      brokenInvariant(found, situation.start[party])
    if (wrong !== undefined) return wrong
  }
  return undefined
}

interface Found {
  records: Map<string, Facts>
  strangers: number
  wallet: Facts
  balance: Balance
}

async function readParty(caller: Caller, party: PartyName, situation: Situation): Promise<Found> {
  const { reader, customerPartyId } = situation
  const scope = party === 'customer' ? { customerPartyId } : {}
  const records = new Map<string, Facts>()
  let strangers = 0
  for (const tool of ['list_agent_cards', 'list_card_transactions']) {
    for (const resource of await readAll(caller, tool, scope)) {
      if (!reader.knows(resource.id ?? '')) strangers++
      else {
        const facts = reader.readResource(resource)
        if ('name' in facts) records.set(facts.name, facts)
      }
    }
  }
  const wallets = await readAll(caller, 'list_wallets', scope)
  const resource = wallets.find(({ id }) => reader.knows(id ?? ''))
  const { available = Number.NaN, total = Number.NaN } = resource?.attributes?.balance ?? {}
  const name = `${party}-wallet`
  const balance = { available, total }
  return {
    records,
    strangers,
    balance,
    wallet: { type: 'wallet', name, ...balance, sound: 0 <= available && available <= total },
  }
}

interface Resource {
  id?: string
  attributes?: { balance?: Balance }
}

async function readAll(caller: Caller, tool: string, scope: Record<string, unknown>): Promise<Resource[]> {
  const found: Resource[] = []
  let cursor: string | undefined
  for (let page = 0; page < maximumPages; page++) {
    const input = { ...scope, limit: 100, ...(cursor === undefined ? {} : { cursor }) }
    const answer = await caller.call(tool, input)
    if (answer.isError) throw new Error(`${tool} failed: ${JSON.stringify(answer.content)}`)
    const content = answer.content as { data: Resource[]; meta?: { pagination?: { nextCursor?: string | null } } }
    found.push(...content.data)
    cursor = content.meta?.pagination?.nextCursor ?? undefined
    if (cursor === undefined) return found
  }
  throw new Error(`${tool} has no end.`)
}

function expectedOf(model: Model, party: PartyName): Map<string, Facts> {
  const cards = model.cards().filter((card) => card.party === party)
  const transactions = model.transactions().filter((transaction) => transaction.party === party)
  return new Map<string, Facts>([
    ...cards.map((card) => [card.name, model.cardFacts(card)] as const),
    ...transactions.map((transaction) => [transaction.name, model.transactionFacts(transaction)] as const),
  ])
}

function firstDifference(expected: Map<string, Facts>, found: Map<string, Facts>): Mismatch | undefined {
  for (const name of new Set([...expected.keys(), ...found.keys()])) {
    const [one, other] = [expected.get(name), found.get(name)]
    if (one !== undefined && other !== undefined && equalFacts(one, other)) continue
    return { ...difference('', describe(one), describe(other)), about: [name] }
  }
  return undefined
}

/** What must hold of the service's own records, whatever the model says. */
function brokenInvariant({ records, balance }: Found, start: Balance | undefined): Mismatch | undefined {
  const all = [...records.values()].filter((facts) => facts.type === 'cardTransaction')
  const purchases = all.filter(({ kind, decline }) => kind === 'purchase' && decline === null)
  const sum = (list: TransactionFacts[], field: 'captured' | 'refunded' | 'held' | 'amount') =>
    list.reduce((total, facts) => total + facts[field], 0)
  const refunds = Map.groupBy(
    all.filter(({ kind }) => kind === 'refund'),
    ({ purchase }) => purchase,
  )
  for (const purchase of purchases) {
    const { name, amount, captured, refunded, held } = purchase
    if (captured + held > amount)
      return difference(`More is captured than authorized of ${name}.`, `<= ${amount}`, `${captured + held}`)
    if (refunded > captured)
      return difference(`More is refunded than captured of ${name}.`, `<= ${captured}`, `${refunded}`)
    const returned = sum(refunds.get(name) ?? [], 'amount')
    if (returned !== refunded) return difference(`The refunds of ${name} do not add up.`, `${refunded}`, `${returned}`)
  }
  const cards = new Set(purchases.map(({ card }) => card))
  if (cards.size !== purchases.length) {
    return difference('A card has made more than one purchase.', `${cards.size}`, `${purchases.length}`)
  }
  const total = (start?.total ?? 0) - sum(purchases, 'captured') + sum(purchases, 'refunded')
  if (balance.total !== total) return difference('Money is not conserved.', `total ${total}`, `total ${balance.total}`)
  const held = (start?.total ?? 0) - (start?.available ?? 0) + sum(purchases, 'held')
  if (balance.total - balance.available === held) return undefined
  return difference('The holds do not add up.', `held ${held}`, `held ${balance.total - balance.available}`)
}

function difference(what: string, expected: string, actual: string): Mismatch {
  return { action: undefined, what, expected, actual, about: [] }
}

function describe(facts: Facts | undefined): string {
  return facts === undefined ? 'nothing' : describeFacts(facts)
}
