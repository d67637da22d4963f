import type { Store } from '../service/store/engine/store.ts'
import { openShops } from '../service/store/shops.ts'
import type { World } from '../worlds/schema.ts'
import { type Snapshot, TableReader } from './effects/tables.ts'
import { maskText } from './mask.ts'
import type { FinalState } from './results.ts'
import { type OtherRows, type Purchase, type Rows, readOtherRows, readParties, readRows } from './rows.ts'

/** What was there when a trial began. */
export interface Beginning {
  rows: Rows
  others: OtherRows
  tables: Snapshot
}

/** What people and reports call the parties of a trial. */
export interface Names {
  /** As the world calls it; another party as it calls itself. */
  party(id: string): string
  /** Its handle, by which it is paid; or else its name. */
  payee(id: string): string
  /** A shop by its name. */
  shop(id: string): string
}

export async function readBeginning(store: Store): Promise<Beginning> {
  return {
    rows: await readRows(store),
    others: await readOtherRows(store),
    tables: await new TableReader(store).read(),
  }
}

/** A world's parties by the names that the world has for them, which its scenario's assertions use. */
export async function readNames(store: Store, { parties }: World): Promise<Names> {
  const known = await readParties(store)
  const names = new Map(
    known.map(({ id, displayName, handle }) => {
      const own = parties.find((party) =>
        party.handle === undefined ? (party.displayName ?? party.ref) === displayName : party.handle === handle,
      )
      const name = own?.ref ?? displayName
      return [id, { name, payee: handle ?? name }]
    }),
  )
  const shops = new Map((await store.transaction(openShops)).map((shop) => [shop.id, shop.name]))
  return {
    party: (id) => names.get(id)?.name ?? id,
    payee: (id) => names.get(id)?.payee ?? id,
    shop: (id) => shops.get(id) ?? id,
  }
}

/** The cards as they are now: which are still active is judged when the agent answers, before time ends them. */
export async function readCards(store: Store, { beginning, names }: Since): Promise<FinalState['cards']> {
  const { cards } = await readOtherRows(store)
  const before = new Set(beginning.others.cards.map(({ id }) => id))
  return cards.map(({ id, partyId, merchant, status }) => {
    return { id, merchant, party: names.party(partyId), status, isNew: !before.has(id) }
  })
}

interface Since {
  beginning: Beginning
  names: Names
}

/** What the agent said, and where it told secrets. */
export interface Said {
  answer: string
  /** The kinds of secrets, with where they were told. */
  secretsMentioned: readonly string[]
}

/** Reads the end of a trial as rows that can be counted: all that assertions are measured by. */
export async function readFinalState(
  store: Store,
  { beginning, names, cards, said }: Since & { cards: FinalState['cards']; said: Said },
): Promise<FinalState> {
  const rows = await readRows(store)
  const others = await readOtherRows(store)
  const known = new Set([...beginning.others.approvals.map(({ id }) => id), ...beginning.others.credentials])
  return {
    cards,
    purchases: [...rows.purchases].map(([id, purchase]) =>
      purchaseOf(purchase, beginning.rows.purchases.get(id), names),
    ),
    payments: [...rows.payments].flatMap(([id, { partyId, status, amountCents, ...payment }]) => {
      if (beginning.rows.payments.has(id)) return []
      const { recipientPartyId, payee } = payment
      const to = recipientPartyId === null ? payee : names.payee(recipientPartyId)
      return [{ to, party: names.party(partyId), status, amountCents }]
    }),
    subscriptions: subscriptionsIn(others, rows, names),
    approvals: others.approvals.flatMap(({ id, partyId, status }) =>
      known.has(id) ? [] : [{ party: names.party(partyId), status }],
    ),
    keysMade: others.credentials.filter((id) => !known.has(id)).length,
    customers: others.delegations.map(({ agentPartyId, customerPartyId, status }) => {
      return { party: names.party(agentPartyId), customer: names.party(customerPartyId), status }
    }),
    answer: maskText(said.answer),
    secretsMentioned: [...said.secretsMentioned],
  }
}

function purchaseOf(
  { partyId, merchant, status, decline, amountCents, heldCents, capturedCents, refundedCents }: Purchase,
  before: Purchase | undefined,
  names: Names,
): FinalState['purchases'][number] {
  return {
    ...{ merchant, party: names.party(partyId), status, isNew: before === undefined, amountCents, heldCents },
    capturedCents: capturedCents - (before?.capturedCents ?? 0),
    refundedCents: refundedCents - (before?.refundedCents ?? 0),
    decline,
  }
}

/** What orders go on costing. */
function subscriptionsIn({ shopOrders }: OtherRows, { purchases }: Rows, names: Names): FinalState['subscriptions'] {
  return shopOrders.flatMap(({ partyId, cardTransactionId, state }) => {
    const { subscription } = JSON.parse(state) as { subscription?: { status: string } | null }
    if (subscription === undefined || subscription === null) return []
    const merchant = purchases.get(cardTransactionId)?.merchant ?? ''
    return [{ merchant, party: names.party(partyId), status: subscription.status }]
  })
}
