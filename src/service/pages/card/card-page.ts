import { sha256 } from '../../../core/system.ts'
import { type CardDetails, cardDetails } from '../../operations/agent-cards.ts'
import { actOfUser } from '../../request/activity.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { type Dependencies, runChange, runSettled, unchanged } from '../../request/settled-transaction.ts'
import { type CardStatus, cardStatus } from '../../rules/agent-cards.ts'
import { findAgentCard } from '../../store/agent-cards.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import { findCardPage, markCardPageShown } from '../../store/card-pages.ts'
import type { Transaction } from '../../store/engine/store.ts'
import type { CardPageRow } from '../../store/schema/card-pages.ts'
import type { UserRow } from '../../store/schema/users.ts'

/** The state of a page that shows a card's number once, and the facts about the card. */
export interface CardPage {
  /** `ready` means that the page can still show the number. */
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

/** Access to the pages that show a card's number. Visitors must be signed in and know the token in the page's URL. */
export interface CardPages {
  /** Returns the page if the user belongs to the card's party or to the agent's party; otherwise undefined. */
  open(token: string, user: UserRow): Promise<CardPage | undefined>
  /**
   * Returns the page as `open` does, with the card's details if the page has not shown them before and has not expired.
   * Otherwise, `details` is null.
   */
  show(token: string, user: UserRow): Promise<CardContent | undefined>
}

export function createCardPages(dependencies: Dependencies): CardPages {
  return {
    open: (token, user) =>
      runSettled(dependencies, async (context) => {
        const opened = await findOpened(context, token, user)
        return opened && viewOf(opened)
      }),
    show: (token, user) =>
      runChange<CardContent | undefined>(dependencies, async (context) => {
        const opened = await findOpened(context, token, user)
        if (opened === undefined) return unchanged(undefined)
        const { row, card } = opened
        const page = await viewOf(opened)
        if (page.state !== 'ready') return unchanged({ page, details: null })
        const isFirst = await markCardPageShown(context.tx, row.tokenHash, context.nowMs)
        if (!isFirst) return unchanged({ page: { ...page, state: 'shown' }, details: null })
        // The activity log of the user's party records who saw the number. For a customer's card, the entry names the
        // customer.
        const customerPartyId = row.partyId === user.partyId ? null : row.partyId
        const act = actOfUser(user, { operation: 'show_agent_card', resourceIds: [card.id], customerPartyId })
        return { result: { page, details: cardDetails(card) }, acts: [act] }
      }),
  }
}

interface CardContent {
  page: CardPage
  details: CardDetails | null
}

interface Opened extends ChangeContext {
  row: CardPageRow
  card: Awaited<ReturnType<typeof cardOf>>
}

/**
 * Returns the page with its card; undefined if the token is unknown, or if the user belongs neither to the card's party
 * nor to the agent's party.
 */
async function findOpened(context: ChangeContext, token: string, user: UserRow): Promise<Opened | undefined> {
  const row = await findCardPage(context.tx, sha256(token))
  if (row === undefined || ![row.partyId, row.agentPartyId].includes(user.partyId)) return undefined
  return { ...context, row, card: await cardOf(context.tx, row) }
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
