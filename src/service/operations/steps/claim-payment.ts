import { fail } from '../../../core/errors.ts'
import { newId } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due.ts'
import { claimed } from '../../rules/ledger.ts'
import { nextPaymentStatus } from '../../rules/payments.ts'
import { postBetween } from '../../store/ledger.ts'
import { createParty, findPartyByAddress } from '../../store/parties.ts'
import { replacePayment } from '../../store/payments.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { WalletRow } from '../../store/schema/wallets.ts'
import { defaultWallet, findWallet } from '../../store/wallets.ts'
import { arrived } from './move-money.ts'

/** The recipient joins, unless somebody with that address has meanwhile, and takes what was put aside. */
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
    transactionId: await arrived(context, before, to),
    updatedAtMs: nowMs,
  })
}

async function claimantsWallet({ tx, system, nowMs }: ChangeContext, payment: PaymentRow): Promise<WalletRow> {
  const { claimant } = payment
  if (claimant === null) throw new Error(`Bug: the payment ${payment.id} waits for nobody.`)
  // Two payments to one address that are claimed at once make one party.
  await tx.lock(`claimant ${claimant}`)
  const type = claimant.includes('@') ? 'email' : 'phone'
  const known = await findPartyByAddress(tx, type, claimant)
  if (known === undefined) {
    const address = type === 'email' ? { email: claimant } : { email: null, phone: claimant }
    const party = { partyType: 'PERSON', displayName: claimant, issuedCardsEnabled: 1, createdAtMs: nowMs } as const
    return createParty(tx, system, { ...party, ...address, id: newId('pty', system, nowMs) }, 0)
  }
  const wallet = known.id === payment.partyId ? undefined : await defaultWallet(tx, known.id)
  if (wallet?.status !== 'active') fail('conflict', { detail: 'The recipient cannot be paid now.' })
  return wallet
}
