import { type System, sha256 } from '../../../core/system.ts'
import { type CardDetails, cardDetails } from '../../operations/agent-cards.ts'
import { recordUsersAct } from '../../request/activity.ts'
import { settledNow } from '../../request/due.ts'
import { type CardStatus, cardStatus } from '../../rules/agent-cards.ts'
import { findAgentCard } from '../../store/agent-cards.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findCardPage, markCardPageShown } from '../../store/card-pages.ts'
import type { Store, Transaction } from '../../store/engine/store.ts'
import type { CardPageRow } from '../../store/schema/card-pages-schema.ts'
import type { UserRow } from '../../store/schema/tables.ts'

/** A page that shows a card's number once, as the person sees it who opened it. */
export interface CardPage {
  /** Whether it can still show the number. */
  state: 'ready' | 'shown' | 'expired'
  expiresAtMs: number
  card: {
    id: string
    status: CardStatus
    merchant: string
    maximumAmountCents: number
    expiresAtMs: number
    agent: string
  }
}

/** Opens a card's page for somebody who is signed in and has the token in its address. */
export interface CardPages {
  /** Gives undefined to everybody but users of the card's party and of its agent's party. */
  open(token: string, user: UserRow): Promise<CardPage | undefined>
  /** Gives the details to the first who asks in time, and to nobody after; `page` is what it was before. */
  show(token: string, user: UserRow): Promise<{ page: CardPage; details: CardDetails | null } | undefined>
}

export function createCardPages(store: Store, system: System): CardPages {
  const withPage = <T>(token: string, user: UserRow, use: (opened: Opened) => Promise<T>) =>
    store.transaction(async (tx) => {
      const nowMs = await settledNow(tx, system)
      const row = await findCardPage(tx, sha256(token))
      if (row === undefined || ![row.partyId, row.agentPartyId].includes(user.partyId)) return undefined
      return use({ tx, system, nowMs, user, row, card: await cardOf(tx, row) })
    })
  return {
    open: (token, user) => withPage(token, user, viewOf),
    show: (token, user) =>
      withPage(token, user, async (opened) => {
        const page = await viewOf(opened)
        const { tx, nowMs, row, card } = opened
        if (page.state !== 'ready') return { page, details: null }
        const isFirst = await markCardPageShown(tx, row.tokenHash, nowMs)
        if (isFirst) await recordShown(opened)
        return isFirst ? { page, details: cardDetails(card) } : { page: { ...page, state: 'shown' }, details: null }
      }),
  }
}

interface Opened {
  tx: Transaction
  system: System
  user: UserRow
  /** The service's time. */
  nowMs: number
  row: CardPageRow
  card: Awaited<ReturnType<typeof cardOf>>
}

/** Records who saw the number, where the card's party and the user's own party find it. */
async function recordShown({ user, row, card, ...context }: Opened): Promise<void> {
  const customerPartyId = row.partyId === user.partyId ? null : row.partyId
  await recordUsersAct(context, user, { operation: 'show_agent_card', resourceIds: [card.id], customerPartyId })
}

async function cardOf(tx: Transaction, { partyId, cardId }: CardPageRow) {
  const card = await findAgentCard(tx, { partyId, agentId: null }, cardId)
  if (card === undefined) throw new Error(`Bug: the card ${cardId} of a page is gone.`)
  return card
}

async function viewOf({ tx, nowMs, row, card }: Opened): Promise<CardPage> {
  const agent = await findAgentOfAnyParty(tx, { id: card.agentId })
  const { id, merchantName, maximumAmountCents, expiresAtMs } = card
  return {
    state: row.shownAtMs !== null ? 'shown' : nowMs >= row.expiresAtMs ? 'expired' : 'ready',
    expiresAtMs: row.expiresAtMs,
    card: {
      id,
      status: cardStatus(card, nowMs),
      merchant: merchantName,
      maximumAmountCents,
      expiresAtMs,
      agent: agent?.name ?? '',
    },
  }
}
