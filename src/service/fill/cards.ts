import { declines } from '../../../tools/card-transactions.ts'
import { timestamp } from '../../core/system.ts'
import { mistake } from '../../worlds/mistake.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { declineReason, requireNotFrozen, switched } from '../rules/agent-cards.ts'
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
import { type Filling, found } from './filling.ts'
import type { Path } from './history.ts'

type Card = NonNullable<WorldParty['cards']>[number]
type Purchase = NonNullable<Card['purchases']>[number]

const hourMs = 60 * 60 * 1000

/** A card of the world with the wallet it pays from. */
interface Issued {
  card: AgentCardRow
  wallet: WalletRow
}

/** Plans the cards on a party's wallets, and the purchases merchants attempted on them. */
export function planCards(filling: Filling, index: number): void {
  for (const [at, card] of (filling.account(index).party.cards ?? []).entries()) {
    const path = ['parties', index, 'cards', at]
    const issued = planCard(filling, index, card, path)
    for (const [number, purchase] of (card.purchases ?? []).entries()) {
      planPurchase(filling, issued, purchase, [...path, 'purchases', number])
    }
  }
}

function planCard(filling: Filling, index: number, card: Card, path: Path): Issued {
  const { tx, clockMs } = filling.ground
  const endsMs = filling.moment(card.expiresAt, Number.POSITIVE_INFINITY)
  const atMs = filling.past(card.issuedAt, Math.min(clockMs, endsMs - hourMs), [...path, 'issuedAt'])
  const expiresAtMs = filling.moment(card.expiresAt, atMs + hourMs)
  if (expiresAtMs <= atMs) mistake([...path, 'expiresAt'], `must be after ${timestamp(atMs)}, when it was issued`)
  const wallet = filling.payingWallet(index, card.wallet, card.agent)
  const row: AgentCardRow = {
    id: filling.id('pcd', card.id, atMs),
    partyId: wallet.partyId,
    walletId: wallet.id,
    agentId: found(filling.agent(index, card.agent)).id,
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
  filling.history.add({ atMs, path, postings: [], happen: () => insertAgentCard(tx, row) })
  if (card.frozenAt !== undefined) {
    const frozenPath = [...path, 'frozenAt']
    const frozenAtMs = filling.past(card.frozenAt, clockMs, frozenPath, atMs)
    const happen = async () => {
      const before = await cardNow(filling, row)
      await saveAgentCardFreeze(tx, before, { ...switched(before, 'freeze', frozenAtMs), updatedAtMs: frozenAtMs })
    }
    filling.history.add({ atMs: frozenAtMs, path: frozenPath, postings: [], happen })
  }
  return { card: row, wallet }
}

async function cardNow({ ground: { tx } }: Filling, { partyId, id }: AgentCardRow): Promise<AgentCardRow> {
  return found(await findAgentCard(tx, { partyId, agentId: null }, id))
}

function planPurchase(filling: Filling, issued: Issued, purchase: Purchase, path: Path): void {
  const { tx } = filling.ground
  const { card, wallet } = issued
  const atMs = filling.past(purchase.at, card.createdAtMs, [...path, 'at'], card.createdAtMs)
  const isApproved = purchase.status !== 'declined'
  const row = newPurchase(card, {
    id: filling.id('cit', purchase.id, atMs),
    merchantName: purchase.merchant ?? card.merchantName,
    amountCents: purchase.amount,
    declineCode: purchase.decline ?? null,
    agentId: card.agentId,
    instanceId: purchase.instanceId ?? null,
    createdAtMs: atMs,
  })
  const posting = authorized(wallet.id, purchase.amount)
  const happen = async () => {
    if (!isApproved) return insertCardTransaction(tx, row)
    const now = await cardNow(filling, card)
    requireNotFrozen(now, atMs)
    const attempt = { card: now, amountCents: purchase.amount, availableCents: purchase.amount, nowMs: atMs }
    const code = declineReason(attempt)
    if (code !== null) mistake([...path, 'status'], `must be declined, with decline ${code}. ${declines[code]}`)
    await insertCardTransaction(tx, row)
    await markAgentCardUsed(tx, now, atMs)
    await filling.post(posting, [wallet], atMs, row.id)
  }
  filling.history.add({ atMs, path, postings: isApproved ? [posting] : [], happen })
  if (isApproved) planEnd(filling, { ...issued, purchase: row }, purchase, path)
}

interface Bought extends Issued {
  purchase: CardTransactionRow
}

/** Plans the capture or reversal of an authorized purchase, and its refunds. */
function planEnd(filling: Filling, bought: Bought, { status, captured: part, ...file }: Purchase, path: Path): void {
  const { clockMs } = filling.ground
  const { wallet, purchase } = bought
  const { amountCents, createdAtMs } = purchase
  const lapsesMs = createdAtMs + holdLifetimeMs
  if (status === 'authorized') {
    if (lapsesMs > clockMs) return
    mistake([...path, 'status'], `must be reversed: its hold lapsed at ${timestamp(lapsesMs)}, before the world begins`)
  }
  const endPath = [...path, 'endedAt']
  const atMs = filling.past(file.endedAt, createdAtMs, endPath, createdAtMs)
  if (atMs > lapsesMs) mistake(endPath, `must not be after ${timestamp(lapsesMs)}, when its hold lapsed`)
  const capturedCents = part ?? amountCents
  const isReversed = status === 'reversed'
  const posting = isReversed ? released(wallet.id, amountCents) : captured(wallet.id, amountCents, capturedCents)
  planChange(filling, bought, { atMs, path, posting }, (row) =>
    isReversed ? release(row, atMs === lapsesMs ? 'expire' : 'reverse') : capture(row, capturedCents),
  )
  for (const [at, { id, amount, at: refundedAt }] of (file.refunds ?? []).entries()) {
    const refundPath = [...path, 'refunds', at]
    const refundedAtMs = filling.past(refundedAt, clockMs, [...refundPath, 'at'], atMs)
    planRefund(filling, bought, { id, amountCents: amount, atMs: refundedAtMs, path: refundPath })
  }
}

interface Change {
  atMs: number
  path: Path
  posting: Posting
}

function planChange(
  filling: Filling,
  { wallet, purchase }: Bought,
  { atMs, path, posting }: Change,
  change: (row: CardTransactionRow) => CardTransactionRow,
): void {
  const happen = async () => {
    const before = await purchaseNow(filling, purchase)
    await replaceCardTransaction(filling.ground.tx, before, { ...change(before), updatedAtMs: atMs })
    await filling.post(posting, [wallet], atMs, purchase.id)
  }
  filling.history.add({ atMs, path, postings: [posting], happen })
}

async function purchaseNow({ ground: { tx } }: Filling, { partyId, id }: CardTransactionRow) {
  return found(await findCardTransaction(tx, { partyId, agentId: null }, id))
}

function planRefund(
  filling: Filling,
  { wallet, purchase }: Bought,
  { id: given, amountCents, atMs, path }: { id: string | undefined; amountCents: number; atMs: number; path: Path },
): void {
  const { tx } = filling.ground
  const posting = refunded(wallet.id, amountCents)
  const id = filling.id('cit', given, atMs)
  const happen = async () => {
    const before = await purchaseNow(filling, purchase)
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
    await filling.post(posting, [wallet], atMs, id)
  }
  filling.history.add({ atMs, path, postings: [posting], happen })
}
