import type { z } from 'zod'
import type { Wallet } from '../../../tools/wallets.ts'
import { fail } from '../../errors.ts'
import { timestamp } from '../../system.ts'
import type { Handler } from '../handler.ts'
import { page, pageRequest } from '../pagination.ts'
import { findParty } from '../store/parties.ts'
import { type Claims, claimsFor } from '../store/payments.ts'
import type { Transaction } from '../store/store.ts'
import type { WalletRow } from '../store/tables.ts'
import { findWallet, listWallets as walletsOf } from '../store/wallets.ts'

export const listWallets: Handler<'listWallets'> = async (input, { tx, partyId }) => {
  const list = { list: 'wallets', partyId }
  const rows = await walletsOf(tx, partyId, pageRequest(input, list))
  const claims = await claimsOf(tx, partyId)
  return page(rows, list, (wallet) => walletView(wallet, claims))
}

export const getWallet: Handler<'getWallet'> = async ({ walletId }, { tx, partyId }) => {
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) fail('not_found', { detail: `There is no wallet ${walletId}.` })
  return walletView(wallet, await claimsOf(tx, partyId))
}

/** What waits to be claimed by the party, under the addresses that it is known by. */
async function claimsOf(tx: Transaction, partyId: string): Promise<Claims> {
  const party = await findParty(tx, partyId)
  const claimants = [party?.email?.toLowerCase(), party?.phone].filter((address) => typeof address === 'string')
  return claimsFor(tx, claimants)
}

/** Claims are the party's, and shown on its default wallet. */
function walletView(row: WalletRow, claims: Claims): z.output<typeof Wallet> {
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
      depositInstructions: null,
      createdAt: timestamp(row.createdAtMs),
    },
    relationships: { party: { data: { type: 'party', id: row.partyId } } },
  }
}
