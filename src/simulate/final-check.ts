import type { Action, PartyName, Tool } from './action.ts'
import { describeFacts, equalFacts, type Facts, type Mismatch, maskFacts } from './facts.ts'
import { brokenInvariant, type Found } from './invariants.ts'
import type { Model } from './model/model.ts'
import type { Balance } from './model/state.ts'
import type { Caller, RunOptions, Situation } from './world.ts'

/** A list that never ends is a fault: 100 records a page. */
const maximumPages = 10_000

/** What is read of the wallets that were there from the start, and what of every customer that the run made up. */
const everybodysLists = [
  ...(['list_payments', 'list_subscriptions', 'list_transfers', 'list_external_accounts'] as const),
  'list_payment_requests',
] as const
const seededLists = ['list_agent_cards', 'list_card_transactions', ...everybodysLists] as const
const customersLists = ['list_approvals', ...everybodysLists] as const
/** What the agent's own party has besides. */
const ownLists = ['list_agent_invitations', 'list_customers'] as const

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
  const seeded: PartyName[] = situation.start.customer === undefined ? ['own'] : ['own', 'customer']
  const found: Found[] = []
  for (const party of [...seeded, ...model.customers().map(({ name }) => name)]) {
    const read = await readParty(caller, party, { model, situation })
    // A database that others use too holds more than this run made.
    if (target.isolated && read.strangers > 0) {
      return difference('Records that no action made.', '0', String(read.strangers))
    }
    const expected = model.recordsOf(party).filter(({ type }) => read.types.has(type))
    const wrong =
      firstDifference(byName(expected), read.records) ??
      (read.wallet === undefined
        ? undefined
        : firstDifference(byName([model.walletFacts(party)]), byName([read.wallet])))
    if (wrong !== undefined) return wrong
    found.push(read)
  }
  for (const party of ['own', 'customer'] as const) {
    const start = situation.start[party]
    const wrong = start === undefined ? undefined : brokenInvariant(party, found, { start, model })
    if (wrong !== undefined) return difference(...wrong)
  }
  return undefined
}

interface Read extends Found {
  strangers: number
  wallet: Facts | undefined
  /** What kinds of records were read: a customer may have granted less than all. */
  types: ReadonlySet<string>
}

const typesOf: Readonly<Record<string, readonly string[]>> = {
  list_agent_cards: ['agentCard'],
  list_card_transactions: ['cardTransaction'],
  list_payments: ['payment'],
  list_approvals: ['approval'],
  list_transfers: ['transfer'],
  list_external_accounts: ['externalAccount'],
  list_payment_requests: ['paymentRequest'],
  list_subscriptions: ['subscription'],
  list_agent_invitations: ['invitation'],
  list_customers: ['customer'],
}

/** What makes a list show what is over. */
const endedToo: Readonly<Record<string, object>> = {
  list_customers: { status: 'all' },
  list_payment_requests: { includeCompleted: 'true', includeCanceled: 'true' },
}

interface Known {
  model: Model
  situation: Situation
}

async function readParty(caller: Caller, party: PartyName, known: Known): Promise<Read> {
  const { model, situation } = known
  const { reader } = situation
  const scope = party === 'own' ? {} : { customerPartyId: reader.idOf(party) }
  const lists: readonly Tool[] =
    party === 'own' ? [...seededLists, ...ownLists] : party === 'customer' ? seededLists : customersLists
  const mayRead = (tool: Tool) => model.allows(tool, party)
  const records = new Map<string, Facts>()
  const types = new Set<string>()
  let strangers = 0
  for (const tool of lists.filter(mayRead)) {
    const resources = await readAll(caller, tool, { ...scope, ...endedToo[tool] })
    for (const type of typesOf[tool] ?? []) types.add(type)
    // The reader learns the approvals that nobody has looked at.
    const page = reader.read(readingOf(tool, party), { isError: false, content: { data: resources } })
    if (page.type !== 'page') continue
    for (const facts of page.items) {
      if ('name' in facts && facts.name !== 'customer') records.set(facts.name, facts)
    }
    strangers += resources.filter(({ id }) => !reader.knows(id ?? '')).length
  }
  records.delete('an unknown one')
  const wallet = mayRead('list_wallets') ? await readWallet(caller, party, { scope, known }) : undefined
  const charged = await charges(caller, records, { scope, idOf: reader.idOf })
  return { party, records, strangers, types, charged, ...(wallet ?? { wallet: undefined }) }
}

function readingOf(tool: Tool, party: PartyName): Action {
  return { step: 0, agent: 0, tool, party }
}

async function readWallet(
  caller: Caller,
  party: PartyName,
  { scope, known: { situation } }: { scope: object; known: Known },
): Promise<{ wallet: Facts; balance: Balance }> {
  const { reader } = situation
  const wallets = await readAll(caller, 'list_wallets', scope)
  reader.read(readingOf('list_wallets', party), { isError: false, content: { data: wallets } })
  const resource = wallets.find(({ id }) => reader.knows(id ?? ''))
  const { available = Number.NaN, total = Number.NaN } = resource?.attributes?.balance ?? {}
  const balance = { available, total }
  // What a bank took back may have been spent: a wallet may have less than nothing, and the model tells how much.
  const sound = available <= total
  return { balance, wallet: { type: 'wallet', name: `${party}-wallet`, ...balance, sound } }
}

/** What the payers of the party's subscriptions were charged, by what each says of its payments. */
async function charges(
  caller: Caller,
  records: Map<string, Facts>,
  { scope, idOf }: { scope: object; idOf: Situation['reader']['idOf'] },
) {
  let cents = 0
  for (const { type, ...facts } of records.values()) {
    if (type !== 'subscription' || !('name' in facts)) continue
    const payments = await readAll(caller, 'list_subscription_payments', { ...scope, subscriptionId: idOf(facts.name) })
    for (const { attributes } of payments) if (attributes?.status === 'paid') cents += attributes.amount ?? Number.NaN
  }
  return cents
}

interface Resource {
  id?: string
  attributes?: { balance?: Balance; status?: string; amount?: number }
}

async function readAll(caller: Caller, tool: string, scope: object): Promise<Resource[]> {
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

function byName(all: readonly Facts[]): Map<string, Facts> {
  return new Map(all.flatMap((facts) => ('name' in facts ? [[facts.name, facts] as const] : [])))
}

function firstDifference(expected: Map<string, Facts>, found: Map<string, Facts>): Mismatch | undefined {
  for (const name of new Set([...expected.keys(), ...found.keys()])) {
    const [one, other] = [expected.get(name), found.get(name)]
    if (one !== undefined && other !== undefined && equalFacts(one, other)) continue
    return { ...difference('', describe(one), describe(other)), about: [name] }
  }
  return undefined
}

function difference(what: string, expected: string, actual: string): Mismatch {
  return { action: undefined, what, expected, actual, about: [] }
}

function describe(facts: Facts | undefined): string {
  return facts === undefined ? 'nothing' : describeFacts(maskFacts(facts))
}
