import { declines } from '../../../tools/card-transactions.ts'
import { timestamp } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { applySwitch, declineReason, requireNotFrozen } from '../rules/agent-cards.ts'
import { capture, holdLifetimeMs, refund, release } from '../rules/card-purchases.ts'
import { authorized, captured, type Posting, refunded, released } from '../rules/ledger.ts'
import { findAgentCard, insertAgentCard, markAgentCardUsed, saveAgentCardFreeze } from '../store/agent-cards.ts'
import {
  findCardTransaction,
  insertCardTransaction,
  newPurchase,
  replaceCardTransaction,
} from '../store/card-transactions.ts'
import type { AgentCardRow } from '../store/schema/agent-cards.ts'
import type { CardTransactionRow } from '../store/schema/card-transactions.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import type { Path } from './history.ts'
import { mustFind, type WorldBuilder } from './world-builder.ts'

type Card = NonNullable<WorldParty['cards']>[number]
type Purchase = NonNullable<Card['purchases']>[number]

const hourMs = 60 * 60 * 1000

/** A card in the world, and the wallet that it pays from. */
interface IssuedCard {
  card: AgentCardRow
  wallet: WalletRow
}

/** Adds a party's cards, and the purchases attempted with these cards, to the history. */
export function planCards(builder: WorldBuilder, index: number): void {
  for (const [at, card] of (builder.account(index).party.cards ?? []).entries()) {
    const path = ['parties', index, 'cards', at]
    const issued = planCard(builder, index, card, path)
    for (const [number, purchase] of (card.purchases ?? []).entries()) {
      planPurchase(builder, issued, purchase, [...path, 'purchases', number])
    }
  }
}

function planCard(builder: WorldBuilder, index: number, card: Card, path: Path): IssuedCard {
  const { tx, clockMs } = builder.context
  const endsMs = builder.moment(card.expiresAt, Number.POSITIVE_INFINITY)
  const atMs = builder.past(card.issuedAt, Math.min(clockMs, endsMs - hourMs), [...path, 'issuedAt'])
  const expiresAtMs = builder.moment(card.expiresAt, atMs + hourMs)
  if (expiresAtMs <= atMs) refuseWorld([...path, 'expiresAt'], `must be after issuedAt, ${timestamp(atMs)}`)
  const wallet = builder.payingWallet(index, card.wallet, card.agent)
  const row: AgentCardRow = {
    id: builder.id('pcd', card.id, atMs),
    partyId: wallet.partyId,
    walletId: wallet.id,
    agentId: mustFind(builder.agent(index, card.agent)).id,
    instanceId: card.instanceId ?? null,
    merchantName: card.merchant,
    maximumAmountCents: card.maximumAmount,
    currency: 'USD',
    expiresAtMs,
    usedAtMs: null,
    frozenAtMs: null,
    version: 1,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  }
  builder.history.add({ atMs, path, postings: [], apply: () => insertAgentCard(tx, row) })
  if (card.frozenAt !== undefined) {
    const frozenPath = [...path, 'frozenAt']
    const frozenAtMs = builder.past(card.frozenAt, clockMs, frozenPath, atMs)
    const apply = async () => {
      const before = await currentCard(builder, row)
      await saveAgentCardFreeze(tx, before, { ...applySwitch(before, 'freeze', frozenAtMs), updatedAtMs: frozenAtMs })
    }
    builder.history.add({ atMs: frozenAtMs, path: frozenPath, postings: [], apply })
  }
  return { card: row, wallet }
}

async function currentCard({ context: { tx } }: WorldBuilder, { partyId, id }: AgentCardRow): Promise<AgentCardRow> {
  return mustFind(await findAgentCard(tx, { partyId, agentId: null }, id))
}

function planPurchase(builder: WorldBuilder, issued: IssuedCard, purchase: Purchase, path: Path): void {
  const { tx } = builder.context
  const { card, wallet } = issued
  const atMs = builder.past(purchase.at, card.createdAtMs, [...path, 'at'], card.createdAtMs)
  const isApproved = purchase.status !== 'declined'
  const row = newPurchase(card, {
    id: builder.id('cit', purchase.id, atMs),
    merchantName: purchase.merchant ?? card.merchantName,
    amountCents: purchase.amount,
    declineCode: purchase.decline ?? null,
    agentId: card.agentId,
    instanceId: purchase.instanceId ?? null,
    createdAtMs: atMs,
  })
  const posting = authorized(wallet.id, purchase.amount)
  const apply = async () => {
    if (!isApproved) return insertCardTransaction(tx, row)
    const now = await currentCard(builder, card)
    requireNotFrozen(now, atMs)
    const attempt = { card: now, amountCents: purchase.amount, availableCents: purchase.amount, nowMs: atMs }
    const code = declineReason(attempt)
    if (code !== null) refuseWorld([...path, 'status'], `must be declined (decline: ${code}). ${declines[code]}`)
    await insertCardTransaction(tx, row)
    await markAgentCardUsed(tx, now, atMs)
    await builder.post(posting, [wallet], atMs, row.id)
  }
  builder.history.add({ atMs, path, postings: isApproved ? [posting] : [], apply })
  if (isApproved) planEnd(builder, { ...issued, purchase: row }, purchase, path)
}

interface CardPurchase extends IssuedCard {
  purchase: CardTransactionRow
}

/** Adds the capture or reversal of an approved purchase, and any refunds, to the history. */
function planEnd(
  builder: WorldBuilder,
  bought: CardPurchase,
  { status, captured: part, ...file }: Purchase,
  path: Path,
): void {
  const { clockMs } = builder.context
  const { wallet, purchase } = bought
  const { amountCents, createdAtMs } = purchase
  const lapsesMs = createdAtMs + holdLifetimeMs
  if (status === 'authorized') {
    if (lapsesMs > clockMs) return
    refuseWorld(
      [...path, 'status'],
      `must be reversed, because the hold lapsed at ${timestamp(lapsesMs)}, before the world begins`,
    )
  }
  const endPath = [...path, 'endedAt']
  const atMs = builder.past(file.endedAt, createdAtMs, endPath, createdAtMs)
  if (atMs > lapsesMs) refuseWorld(endPath, `must not be after ${timestamp(lapsesMs)}, when the hold lapsed`)
  const capturedCents = part ?? amountCents
  const isReversed = status === 'reversed'
  const posting = isReversed ? released(wallet.id, amountCents) : captured(wallet.id, amountCents, capturedCents)
  planChange(builder, bought, { atMs, path, posting }, (row) =>
    isReversed ? release(row, atMs === lapsesMs ? 'expire' : 'reverse') : capture(row, capturedCents),
  )
  for (const [at, { id, amount, at: refundedAt }] of (file.refunds ?? []).entries()) {
    const refundPath = [...path, 'refunds', at]
    const refundedAtMs = builder.past(refundedAt, clockMs, [...refundPath, 'at'], atMs)
    planRefund(builder, bought, { id, amountCents: amount, atMs: refundedAtMs, path: refundPath })
  }
}

interface Change {
  atMs: number
  path: Path
  posting: Posting
}

function planChange(
  builder: WorldBuilder,
  { wallet, purchase }: CardPurchase,
  { atMs, path, posting }: Change,
  change: (row: CardTransactionRow) => CardTransactionRow,
): void {
  const apply = async () => {
    const before = await currentPurchase(builder, purchase)
    await replaceCardTransaction(builder.context.tx, before, { ...change(before), updatedAtMs: atMs })
    await builder.post(posting, [wallet], atMs, purchase.id)
  }
  builder.history.add({ atMs, path, postings: [posting], apply })
}

async function currentPurchase({ context: { tx } }: WorldBuilder, { partyId, id }: CardTransactionRow) {
  return mustFind(await findCardTransaction(tx, { partyId, agentId: null }, id))
}

function planRefund(
  builder: WorldBuilder,
  { wallet, purchase }: CardPurchase,
  { id: fixedId, amountCents, atMs, path }: { id: string | undefined; amountCents: number; atMs: number; path: Path },
): void {
  const { tx } = builder.context
  const posting = refunded(wallet.id, amountCents)
  const id = builder.id('cit', fixedId, atMs)
  const apply = async () => {
    const before = await currentPurchase(builder, purchase)
    await insertCardTransaction(tx, {
      ...before,
      id,
      kind: 'refund',
      purchaseId: before.id,
      amountCents,
      status: 'refunded',
      capturedCents: 0,
      refundedCents: 0,
      version: 1,
      createdAtMs: atMs,
      updatedAtMs: atMs,
    })
    await replaceCardTransaction(tx, before, { ...refund(before, amountCents), updatedAtMs: atMs })
    await builder.post(posting, [wallet], atMs, id)
  }
  builder.history.add({ atMs, path, postings: [posting], apply })
}
