import type { z } from 'zod'
import type { Wallet, wallets } from '../../../tools/wallets.ts'
import { fail } from '../../core/errors.ts'
import { newId, sha256, timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { mergedTags } from '../rules/tags.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findParty } from '../store/parties.ts'
import { type Claims, claimsFor } from '../store/payments.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { defaultWallet, findWallet, insertWallet, listWallets, newWallet, updateWallet } from '../store/wallets.ts'

export const walletHandlers = {
  listWallets: async (input, { tx, partyId }) => {
    const list = { list: 'wallets', partyId }
    const rows = await listWallets(tx, partyId, pageRequest(input, list))
    const claims = await claimsOf(tx, partyId)
    return page(rows, list, (wallet) => walletView(wallet, claims))
  },

  getWallet: async ({ walletId }, context) => {
    const view = await viewWithClaims(context, await loadWallet(context, walletId))
    return { ...view, attributes: { ...view.attributes, depositInstructions: depositInstructions(walletId) } }
  },

  createWallet: async (input, context) => {
    const { tx, partyId, nowMs, system } = context
    if (input.partyId !== undefined && input.partyId !== partyId) {
      const source = { pointer: '/data/attributes/partyId' }
      fail('forbidden', { detail: 'You can create wallets only for your own party.', source })
    }
    const { displayName, description = null, tags = {} } = input
    const identity = { id: newId('wal', system, nowMs), partyId, createdAtMs: nowMs }
    const wallet: WalletRow = { ...newWallet, ...identity, displayName, description, tags: JSON.stringify(tags) }
    await insertWallet(tx, wallet)
    return viewWithClaims(context, wallet)
  },

  updateWallet: async ({ walletId, ...input }, context) => {
    const before = await loadWallet(context, walletId)
    const { displayName, description, tags } = input
    const change = {
      ...(displayName === undefined ? {} : { displayName }),
      ...(description === undefined ? {} : { description }),
      ...(tags === undefined ? {} : { tags: mergedTags(before.tags, tags) }),
    }
    return viewWithClaims(context, await updateWallet(context.tx, before, change))
  },

  setDefaultWallet: async ({ walletId }, context) => {
    const { tx, partyId } = context
    const next = await loadWallet(context, walletId)
    if (next.status !== 'active') fail('conflict', { detail: `The wallet ${walletId} is ${next.status}.` })
    const before = await defaultWallet(tx, partyId)
    if (next.isDefault === 1) return viewWithClaims(context, next)
    // Wallets are updated in the order of their ids to avoid deadlocks.
    const wallets = [next, ...(before === undefined ? [] : [before])].sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const wallet of wallets) await updateWallet(tx, wallet, { isDefault: wallet.id === walletId ? 1 : 0 })
    return viewWithClaims(context, { ...next, isDefault: 1 })
  },

  freezeWallet: ({ walletId }, context) => setStatus(context, walletId, 'frozen'),

  unfreezeWallet: ({ walletId }, context) => setStatus(context, walletId, 'active'),
} satisfies HandlersOf<typeof wallets>

/**
 * Freezes or unfreezes a wallet. Money that a frozen wallet already holds for others can still be captured, claimed and
 * released. If the wallet already has the new status, changes nothing.
 */
async function setStatus(context: Context, walletId: string, status: 'active' | 'frozen') {
  // A request with an idempotency key already holds the party's lock at this point. Freezing and unfreezing take no
  // key, so the lock is taken here.
  await context.tx.lockParty(context.partyId)
  const before = await loadWallet(context, walletId)
  if (before.status === 'closed') fail('conflict', { detail: `The wallet ${walletId} is closed.` })
  return viewWithClaims(context, before.status === status ? before : await updateWallet(context.tx, before, { status }))
}

/** Returns a wallet of the party `partyId`. @throws 404 if the party has no such wallet. */
export async function loadWallet({ tx, partyId }: Context, walletId: string): Promise<WalletRow> {
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) fail('not_found', { detail: `There is no wallet ${walletId}.` })
  return wallet
}

/** Returns fictitious deposit instructions. The account number is derived from the wallet's id. */
function depositInstructions(walletId: string) {
  const digits = BigInt(`0x${sha256(walletId).slice(0, 12)}`) % 10n ** 10n
  return { bankName, accountNumber: digits.toString().padStart(10, '0'), routingNumber: '000000000' }
}

const bankName = 'Sandbox Bank'

async function viewWithClaims({ tx, partyId }: Context, wallet: WalletRow) {
  return walletView(wallet, await claimsOf(tx, partyId))
}

/** Returns the total amount and the number of unclaimed payments to the party's email address and phone number. */
async function claimsOf(tx: Transaction, partyId: string): Promise<Claims> {
  const party = await findParty(tx, partyId)
  const claimants = [party?.email?.toLowerCase(), party?.phone].filter((address) => typeof address === 'string')
  return claimsFor(tx, claimants)
}

/** Renders a wallet. Unclaimed payments to the party are shown only on the party's default wallet. */
export function walletView(row: WalletRow, claims: Claims): z.output<typeof Wallet> {
  const { availableCents, heldCents, currency } = row
  return {
    type: 'wallet',
    id: row.id,
    attributes: {
      status: row.status,
      walletType: row.walletType,
      isDefault: row.isDefault === 1,
      displayName: row.displayName,
      description: row.description,
      tags: JSON.parse(row.tags) as Record<string, string>,
      balance: { available: availableCents, total: availableCents + heldCents, currency },
      claims: row.isDefault === 1 ? claims : { amount: 0, count: 0 },
      depositInstructions: { bankName, accountNumber: null, routingNumber: null },
      createdAt: timestamp(row.createdAtMs),
    },
    relationships: { party: { data: { type: 'party', id: row.partyId } } },
  }
}
