import type { PartyName } from './action.ts'
import { describeFacts, equalFacts, type Facts, type Mismatch, maskFacts } from './facts.ts'
import { brokenInvariant } from './invariants.ts'
import type { Model } from './model/model.ts'
import type { Balance } from './model/state.ts'
import type { Caller, RunOptions, Situation } from './world.ts'

/** The maximum number of pages to read from one list. Each page has 100 records. */
const maximumPages = 10_000

/**
 * Reads the wallets and all records of the run again. Compares them with the model, and the balances with the records.
 * The final state does not depend on the order of calls, so this check also works for concurrent runs.
 */
export async function compareEnd(
  caller: Caller,
  model: Model,
  situation: Situation,
  { target }: RunOptions,
): Promise<Mismatch | undefined> {
  for (const party of ['own', 'customer'] as const) {
    const start = situation.start[party]
    if (start === undefined) continue
    const { records, unknownRecords, wallet, balance } = await readParty(caller, party, situation)
    // A shared database also contains records from outside this run.
    if (target.isolated && unknownRecords > 0)
      return difference('There are records that no action of the run created.', '0', String(unknownRecords))
    const wrong =
      firstDifference(byName(model.recordsOf(party)), records) ??
      firstDifference(byName([model.walletFacts(party)]), byName([wallet]))
    if (wrong !== undefined) return wrong
    const violation = brokenInvariant(records, balance, start)
    if (violation !== undefined) return difference(...violation)
  }
  return undefined
}

interface PartyState {
  records: Map<string, Facts>
  unknownRecords: number
  wallet: Facts
  balance: Balance
}

async function readParty(caller: Caller, party: PartyName, { reader }: Situation): Promise<PartyState> {
  const scope = party === 'own' ? {} : { customerPartyId: reader.idOf(party) }
  const records = new Map<string, Facts>()
  let unknownRecords = 0
  const factsOf = (tool: 'list_agent_cards' | 'list_card_transactions' | 'list_wallets', data: Resource[]) => {
    const page = reader.read({ step: 0, agent: 0, tool, party }, { isError: false, content: { data } })
    return page.type === 'page' ? page.items : []
  }
  for (const tool of ['list_agent_cards', 'list_card_transactions'] as const) {
    const resources = await readAll(caller, tool, scope)
    const identified = resources.filter(({ id = '' }) => reader.hasName(id))
    for (const [name, facts] of byName(factsOf(tool, identified))) records.set(name, facts)
    unknownRecords += resources.length - identified.length
  }
  const wallets = await readAll(caller, 'list_wallets', scope)
  const { available = Number.NaN, total = Number.NaN } =
    wallets.find(({ id = '' }) => reader.hasName(id))?.attributes?.balance ?? {}
  const sound = 0 <= available && available <= total
  const balance = { available, total }
  return { records, unknownRecords, balance, wallet: { type: 'wallet', name: `${party}-wallet`, ...balance, sound } }
}

interface Resource {
  id?: string
  attributes?: { balance?: Balance }
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
  throw new Error(`${tool} has more than ${maximumPages} pages.`)
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
