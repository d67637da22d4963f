import type { z } from 'zod'
import type { AgentCard, AgentCardDetails, agentCards } from '../../../tools/agent-cards.ts'
import { fail } from '../../core/errors.ts'
import { monthAndYear, newId, newSecret, sha256, timestamp } from '../../core/system.ts'
import { type Context, cardScope, type HandlersOf, walletListScope } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { neededOnWallets, refuseUnheld, requireWalletPermission } from '../request/permission-checks.ts'
import { applySwitch, type CardSwitch, cardStatus } from '../rules/agent-cards.ts'
import {
  findAgentCard,
  findPayableCard,
  insertAgentCard,
  listAgentCards,
  type PayableCard,
  saveAgentCardFreeze,
} from '../store/agent-cards.ts'
import { findAgentOfAnyParty } from '../store/agents.ts'
import { insertCardPage } from '../store/card-pages.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findParty } from '../store/parties.ts'
import type { AgentCardRow } from '../store/schema/agent-cards.ts'
import type { AgentRow } from '../store/schema/agents.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { defaultWallet, findPayingWallet, type PayingWallet } from '../store/wallets.ts'
import { requireCardWithinLimits } from './steps/check-spending-limits.ts'

export type CardDetails = z.output<typeof AgentCardDetails>['attributes']

/**
 * The number and security code of every sandbox card. No card network accepts this number
 * (docs/service.md#card-details).
 */
export const sandboxTestCard = { number: '4242424242424242', cvv: '123' } as const

/** How long the page with a card's details can be opened, by the sandbox clock. */
const pageLifetimeMs = 10 * 60_000

export const agentCardHandlers = {
  issueAgentCard: async (input, context) => {
    const { tx, actor, partyId, instanceId, nowMs, system, afterCommit } = context
    if (actor.agentId === null) throw new Error('Bug: issue_agent_card was allowed for a caller that is not an agent.')
    const { wallet, agent } = await requirePayingWallet(context)
    await requireCardWithinLimits(tx, { partyId, agentId: actor.agentId, agent }, input.maximumAmount)
    const row: AgentCardRow = {
      id: newId('pcd', system, nowMs),
      partyId,
      walletId: wallet.id,
      agentId: actor.agentId,
      instanceId,
      merchantName: input.merchant.name,
      maximumAmountCents: input.maximumAmount,
      currency: input.currency,
      expiresAtMs: nowMs + input.expiresInMinutes * 60_000,
      usedAtMs: null,
      frozenAtMs: null,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    await insertAgentCard(tx, row)
    afterCommit.isCovered = wallet.availableCents >= row.maximumAmountCents
    return cardView(row, nowMs)
  },

  getAgentCard: async ({ cardId }, context) => cardView(await loadCard(context, cardId), context.nowMs),

  listAgentCards: async (input, context) => {
    const scope = walletListScope(context)
    const list = { list: 'agentCards', ...scope }
    const rows = await listAgentCards(context.tx, scope, pageRequest(input, list))
    return page(rows, list, (row) => cardView(row, context.nowMs))
  },

  getAgentCardDetails: async ({ cardId }, context) => {
    const card = await loadCard(context, cardId)
    return { type: 'agentCardDetails', id: card.id, attributes: cardDetails(card) }
  },

  createAgentCardDetailsPage: async ({ cardId }, context) => {
    const { tx, system, nowMs, publicUrl } = context
    const card = await loadCard(context, cardId)
    const agent = await findAgentOfAnyParty(tx, { id: card.agentId })
    if (agent === undefined) throw new Error(`Bug: the agent of the card ${card.id} does not exist.`)
    const token = newSecret(system)
    const expiresAtMs = nowMs + pageLifetimeMs
    await insertCardPage(tx, {
      tokenHash: sha256(token),
      cardId: card.id,
      partyId: card.partyId,
      agentPartyId: agent.partyId,
      createdAtMs: nowMs,
      expiresAtMs,
      shownAtMs: null,
    })
    return {
      type: 'agentCardDetailsPage',
      id: card.id,
      attributes: { url: `${publicUrl()}/cards/${token}`, expiresAt: timestamp(expiresAtMs) },
    }
  },

  freezeAgentCard: ({ cardId }, context) => switchCard(context, cardId, 'freeze'),

  unfreezeAgentCard: ({ cardId }, context) => switchCard(context, cardId, 'unfreeze'),
} satisfies HandlersOf<typeof agentCards>

async function switchCard(context: Context, cardId: string, event: CardSwitch) {
  const { tx, nowMs } = context
  const before = await loadCard(context, cardId)
  const after = applySwitch(before, event, nowMs)
  return cardView(await saveAgentCardFreeze(tx, before, { ...after, updatedAtMs: nowMs }), nowMs)
}

/** Returns the details needed to pay with the card. */
export function cardDetails({ expiresAtMs }: AgentCardRow): CardDetails {
  const { month, year } = monthAndYear(expiresAtMs)
  return { ...sandboxTestCard, expirationMonth: month, expirationYear: year }
}

/**
 * Returns a card that pays from a wallet of the party that the request acts on. An agent finds only cards that were
 * issued to it.
 * @throws 404 for any other card, 403 if the agent lacks the operation's permission on the wallet.
 */
export async function loadCard(context: Context, cardId: string): Promise<AgentCardRow> {
  const { tx, actor, operation } = context
  const card = await findAgentCard(tx, cardScope(context), cardId)
  if (card === undefined) failNoCard(cardId)
  await requireWalletPermission(tx, actor, operation, { id: card.walletId, partyId: card.partyId })
  return card
}

/** Returns the same card as `loadCard`, with the records needed to charge it. @throws the same errors as `loadCard`. */
export async function loadPayableCard(context: Context, cardId: string): Promise<PayableCard> {
  const { tx, actor, operation, partyId } = context
  const needed = neededOnWallets(actor, operation, partyId)
  const found = await findPayableCard(tx, cardScope(context), cardId, needed)
  if (found === undefined) failNoCard(cardId)
  if (needed !== null && !found.hasPermission) refuseUnheld(needed, found.wallet.id)
  return found
}

function failNoCard(cardId: string): never {
  fail('not_found', { detail: `There is no card ${cardId}.` })
}

/**
 * Returns the wallet that a new card will pay from, and the calling agent. If the agent acts for a customer, `agent` is
 * undefined.
 */
async function requirePayingWallet(context: Context): Promise<{ wallet: WalletRow; agent: AgentRow | undefined }> {
  const { tx, actor, partyId, operation } = context
  const needed = neededOnWallets(actor, operation, partyId)
  const { party, wallet, agent, hasPermission } =
    needed === null ? await customersWallet(tx, partyId) : await findPayingWallet(tx, partyId, needed)
  if (party?.issuedCardsEnabled !== 1) fail('issued_cards_not_enabled')
  if (wallet === undefined)
    fail('forbidden', { detail: 'The agent has no wallet to pay from. Ask its owner to attach one.' })
  if (needed !== null && !hasPermission) refuseUnheld(needed, wallet.id)
  return { wallet, agent }
}

/**
 * Finds a customer's default wallet. The customer's grant to the agent was already checked, so the agent needs no
 * permission on the wallet itself.
 */
async function customersWallet(tx: Transaction, partyId: string): Promise<PayingWallet> {
  const [party, wallet] = await Promise.all([findParty(tx, partyId), defaultWallet(tx, partyId)])
  return { party, wallet, agent: undefined, hasPermission: false }
}

export function cardView(row: AgentCardRow, nowMs: number): z.output<typeof AgentCard> {
  return {
    type: 'agentCard',
    id: row.id,
    attributes: {
      status: cardStatus(row, nowMs),
      merchant: { name: row.merchantName },
      maximumAmount: row.maximumAmountCents,
      currency: row.currency,
      expiresAt: timestamp(row.expiresAtMs),
      agentId: row.agentId,
      instanceId: row.instanceId,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: row.partyId } },
      wallet: { data: { type: 'wallet', id: row.walletId } },
      agent: { data: { type: 'agent', id: row.agentId } },
    },
  }
}
