import type { Context, Hono } from 'hono'
import { foreignText } from '../../../core/foreign-text.ts'
import { type System, sha256 } from '../../../core/system.ts'
import { settledNow } from '../../request/due.ts'
import type { Store } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { findClaimablePayment } from '../../store/payments.ts'
import type { PaymentRow } from '../../store/schema/payment-tables.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { dollars, isolated } from '../frame/texts.ts'
import { type ConnectGrounds, orFailure } from './routes.ts'
import { connectMessage } from './view.ts'

interface ClaimPages extends ConnectGrounds {
  store: Store
  system: System
}

/** The page at a payment's `claimLink`: who sends how much, and what has become of it. */
export function mountClaims(app: Hono, pages: ClaimPages): void {
  app.get('/claim/:token', (c) => orFailure(c, pages, () => showPage(c, pages)))
}

async function showPage(c: Context, { store, system, environment }: ClaimPages): Promise<Response> {
  const found = await store.transaction(async (tx) => {
    await settledNow(tx, system)
    const payment = await findClaimablePayment(tx, sha256(c.req.param('token') ?? ''))
    return payment && { payment, sender: await findParty(tx, payment.partyId) }
  })
  if (found === undefined) {
    const text = 'There is no payment at this address. Check the link, or ask the sender for it.'
    return c.html(connectMessage('Not found', text), 404, headers)
  }
  const { payment, sender } = found
  const heading = `${isolated(foreignText(sender?.displayName ?? '') || 'Somebody')} sends you ${dollars(payment.amountCents)}`
  return c.html(connectMessage(heading, stateWords(payment.status, environment === 'sandbox')), 200, headers)
}

function stateWords(status: PaymentRow['status'], sandbox: boolean): string {
  if (status === 'PENDING_CLAIM') {
    return sandbox
      ? 'It waits to be claimed. No real money moves here: the sender rehearses your claim with simulate_payment_claim.'
      : 'It waits to be claimed: sign in with the address that it was sent to.'
  }
  if (status === 'COMPLETED') return 'It was claimed.'
  if (status === 'IN_REVIEW') return 'The sender’s side still reviews it. Come back later.'
  return 'It was taken back or refused: there is nothing to claim.'
}
