import { fail } from '../../../core/errors.ts'
import { newId } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { claimed } from '../../rules/ledger.ts'
import { nextPaymentStatus } from '../../rules/payments.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { postBetween } from '../../store/ledger.ts'
import { createParty, findPartyByAddress } from '../../store/parties.ts'
import { replacePayment } from '../../store/payments.ts'
import type { PartyRow } from '../../store/schema/parties.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { WalletRow } from '../../store/schema/wallets.ts'
import { recordArrival } from '../../store/transactions.ts'
import { defaultWallet, findWallet } from '../../store/wallets.ts'

/** Pays a payment's reserved money to the recipient. If no party has the recipient's address yet, creates one. */
export async function claimPayment(context: ChangeContext, before: PaymentRow): Promise<PaymentRow> {
  const { tx, system, nowMs } = context
  const status = nextPaymentStatus(before.status, 'claim')
  const from = await findWallet(tx, before.partyId, before.walletId)
  if (from === undefined) throw new Error(`Bug: the wallet ${before.walletId} of a payment is gone.`)
  const to = await claimantsWallet(context, before)
  const posting = claimed(from.id, to.id, before.heldCents)
  await postBetween(tx, system, [from, to], [{ posting, nowMs, sourceId: before.id }])
  return replacePayment(tx, before, {
    ...before,
    status,
    heldCents: 0,
    recipientPartyId: to.partyId,
    transactionId: await recordArrival(context, before, to),
    updatedAtMs: nowMs,
  })
}

async function claimantsWallet(context: ChangeContext, payment: PaymentRow): Promise<WalletRow> {
  const { claimant } = payment
  if (claimant === null) throw new Error(`Bug: the payment ${payment.id} has no claimant.`)
  const wallet = await findOrCreateWallet(context, claimant)
  if (wallet?.status !== 'active' || wallet.partyId === payment.partyId) {
    fail('conflict', { detail: 'The recipient cannot be paid now.' })
  }
  return wallet
}

/** Returns the party that now has the address to which the payment was sent; undefined if there is none. */
export async function findClaimant(
  tx: Transaction,
  { claimant }: Pick<PaymentRow, 'claimant'>,
): Promise<PartyRow | undefined> {
  return claimant === null ? undefined : findPartyByAddress(tx, addressTypeOf(claimant), claimant)
}

const addressTypeOf = (address: string) => (address.includes('@') ? 'email' : 'phone')

/**
 * Returns the default wallet of the party with this email address or phone number. If there is no such party, creates
 * one with an empty wallet.
 */
export async function findOrCreateWallet(
  { tx, system, nowMs }: ChangeContext,
  address: string,
): Promise<WalletRow | undefined> {
  // Without this lock, two simultaneous requests could each create a party for the address.
  await tx.lock(`claimant ${address}`)
  const type = addressTypeOf(address)
  const partyAtAddress = await findPartyByAddress(tx, type, address)
  if (partyAtAddress !== undefined) return defaultWallet(tx, partyAtAddress.id)
  const contact = type === 'email' ? { email: address } : { email: null, phone: address }
  const party = { partyType: 'PERSON', displayName: address, issuedCardsEnabled: 1, createdAtMs: nowMs } as const
  return createParty(tx, system, { ...party, ...contact, id: newId('pty', system, nowMs) }, 0)
}
