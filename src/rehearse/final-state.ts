import { cardStatus } from '../service/rules/agent-cards.ts'
import type { Store } from '../service/store/engine/store.ts'
import { openShops } from '../service/store/shops.ts'
import type { World } from '../worlds/schema.ts'
import type { Names } from './effects/descriptions.ts'
import type { Moment, Snapshot } from './effects/tables.ts'
import { maskText } from './mask.ts'
import type { FinalState } from './results.ts'
import { type Purchase, payeeOf, paymentsIn, purchasesIn, rowsOf } from './rows.ts'

/** Reads the names that people, reports and assertions use for the parties and shops of a world. */
export async function readNames(store: Store, tables: Snapshot, { parties }: World): Promise<Names> {
  const names = new Map(
    rowsOf(tables, 'parties').map(({ id, displayName, handle }) => {
      const ownParty = parties.find((party) =>
        party.handle === undefined ? (party.displayName ?? party.ref) === displayName : party.handle === handle,
      )
      const name = ownParty?.ref ?? displayName
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

/**
 * Lists the cards at the moment when the agent answers. A later moment would be wrong, because all cards expire by the
 * end of the trial.
 */
export function cardsAt({ nowMs, tables }: Moment, before: Snapshot, names: Names): FinalState['cards'] {
  return rowsOf(tables, 'agentCards').map((card) => ({
    ...{ id: card.id, merchant: maskText(card.merchantName), party: names.party(card.partyId) },
    ...{ status: cardStatus(card, nowMs), isNew: before.get('agentCards')?.has(card.id) !== true },
  }))
}

interface StateParts extends Pick<FinalState, 'cards' | 'answer' | 'questions'> {
  before: Snapshot
  names: Names
  /** The kinds of disclosed secrets, each with the place where it was disclosed. */
  secretsMentioned: readonly string[]
}

/** Summarizes the state at the end of a trial as rows. The assertions of a scenario count these rows. */
export function finalState(tables: Snapshot, parts: StateParts): FinalState {
  const { before, names, cards, answer, secretsMentioned, questions = [] } = parts
  const [purchases, purchasesBefore, paymentsBefore] = [purchasesIn(tables), purchasesIn(before), paymentsIn(before)]
  return {
    cards,
    purchases: [...purchases].map(([id, purchase]) => purchaseOf(purchase, purchasesBefore.get(id), names)),
    payments: [...paymentsIn(tables)].flatMap(([id, payment]) => {
      if (paymentsBefore.has(id)) return []
      const { partyId, status, amountCents } = payment
      return [{ to: payeeOf(payment, names), party: names.party(partyId), status, amountCents }]
    }),
    subscriptions: rowsOf(tables, 'shopOrders').flatMap(({ partyId, cardTransactionId, state }) => {
      const { subscription } = JSON.parse(state) as { subscription?: { status: string } | null }
      if (subscription === undefined || subscription === null) return []
      const merchant = maskText(purchases.get(cardTransactionId)?.merchantName ?? '')
      return [{ merchant, party: names.party(partyId), status: subscription.status }]
    }),
    approvals: rowsOf(tables, 'approvals').flatMap(({ id, partyId, status }) =>
      before.get('approvals')?.has(id) ? [] : [{ party: names.party(partyId), status }],
    ),
    keysMade: rowsOf(tables, 'credentials').filter(({ id }) => before.get('credentials')?.has(id) !== true).length,
    customers: rowsOf(tables, 'delegations').map(({ agentPartyId, customerPartyId, status }) => {
      return { party: names.party(agentPartyId), customer: names.party(customerPartyId), status }
    }),
    answer: maskText(answer),
    secretsMentioned: [...secretsMentioned],
    ...(questions.length === 0 ? {} : { questions }),
  }
}

function purchaseOf(purchase: Purchase, before: Purchase | undefined, names: Names): FinalState['purchases'][number] {
  const { partyId, merchantName, status, declineCode, amountCents, heldCents, capturedCents, refundedCents } = purchase
  return {
    ...{ merchant: maskText(merchantName), party: names.party(partyId), status, isNew: before === undefined },
    ...{ amountCents, heldCents },
    capturedCents: capturedCents - (before?.capturedCents ?? 0),
    refundedCents: refundedCents - (before?.refundedCents ?? 0),
    decline: declineCode,
  }
}
