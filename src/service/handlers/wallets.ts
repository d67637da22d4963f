import type { z } from 'zod'
import type { Wallet } from '../../../tools/wallets.ts'
import { fail } from '../../errors.ts'
import { timestamp } from '../../system.ts'
import type { Handler } from '../handler.ts'
import { page, pageRequest } from '../pagination.ts'
import type { WalletRow } from '../store/tables.ts'
import { findWallet, listWallets as walletsOf } from '../store/wallets.ts'

export const listWallets: Handler<'listWallets'> = async (input, { tx, partyId }) => {
  const list = { list: 'wallets', partyId }
  return page(await walletsOf(tx, partyId, pageRequest(input, list)), list, walletView)
}

export const getWallet: Handler<'getWallet'> = async ({ walletId }, { tx, partyId }) => {
  const wallet = await findWallet(tx, partyId, walletId)
  if (wallet === undefined) fail('not_found', { detail: `There is no wallet ${walletId}.` })
  return walletView(wallet)
}

function walletView(row: WalletRow): z.output<typeof Wallet> {
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
      claims: { amount: 0, count: 0 },
      depositInstructions: null,
      createdAt: timestamp(row.createdAtMs),
    },
    relationships: { party: { data: { type: 'party', id: row.partyId } } },
  }
}
