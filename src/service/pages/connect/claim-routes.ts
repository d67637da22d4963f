import type { Context, Hono } from 'hono'
import { foreignName } from '../../../core/foreign-text.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import type { Html } from '../frame/document.ts'
import { messagePage } from '../frame/form-page.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { dollars, isolated } from '../frame/texts.ts'
import { type Claim, openClaim } from './claim.ts'
import { orFailure, tokenOf } from './routes.ts'

/** The page at a payment's `claimLink`: who sends how much, and what has become of it. */
export function mountClaims(app: Hono, pages: PageDependencies): void {
  app.get('/claim/:token', (c) => orFailure(c, pages, () => showPage(c, pages)))
}

async function showPage(c: Context, pages: PageDependencies): Promise<Response> {
  const claim = await openClaim(pages, tokenOf(c))
  if (claim === undefined) {
    const text = 'There is no payment at this address. Check the link, or ask the sender for it.'
    return c.html(messagePage('Not found', text), 404, headers)
  }
  return c.html(claimPage(claim, pages.environment === 'sandbox'), 200, headers)
}

export function claimPage({ sender, amountCents, status }: Claim, sandbox: boolean): Html {
  const heading = `${isolated(foreignName(sender, 'Somebody', 200))} sends you ${dollars(amountCents)}`
  return messagePage(heading, stateWords(status, sandbox))
}

function stateWords(status: Claim['status'], sandbox: boolean): string {
  if (status === 'PENDING_CLAIM') {
    return sandbox
      ? 'It waits to be claimed. No real money moves here: the sender rehearses your claim with simulate_payment_claim.'
      : 'It waits to be claimed: sign in with the address that it was sent to.'
  }
  if (status === 'COMPLETED') return 'It was claimed.'
  if (status === 'IN_REVIEW') return 'The sender’s side still reviews it. Come back later.'
  return 'It was taken back or refused: there is nothing to claim.'
}
