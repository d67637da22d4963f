import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { parseTimestamp } from '../../../../core/system.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { Html } from '../../frame/document.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'
import type { ListTold, Told } from './read-money.ts'
import { likeOf, merchantName, statusText } from './words.ts'

interface Cause {
  agentId: string | null
  instanceId: string | null
  createdAt: string
}

export interface CardTold extends Cause {
  status: string
  merchant: { name: string }
  maximumAmount: number
  expiresAt: string
}

export interface PurchaseTold extends Cause {
  kind: 'purchase' | 'refund'
  status: string
  amount: number
  merchant: { name: string }
  held: number
  captured: number
  refunded: number
  decline: { code: string; detail: string } | null
}

export interface PaymentTold extends Cause {
  amount: number
  status: string
  description: string | null
}

/** Whose lists they are. */
export interface Whose {
  partyId: string
  /** The agents whose runs are the party's. */
  own: ReadonlySet<string>
}

const status = (text: string) => html`<span class="outcome ${likeOf(text)}">${statusText(text)}</span>`

const runLink = ({ partyId, own }: Whose, { agentId, instanceId }: Cause, what: string) =>
  agentId !== null && !own.has(agentId)
    ? html`<span class="aside">for another party</span>`
    : html`<a href="/console/runs/${runIdOf(partyId, instanceId)}">Its run<span class="unseen">: ${what}</span></a>`

const when = (text: string) => html`<time datetime="${text}">${shortMomentOf(parseTimestamp(text))}</time>`

function section(id: string, heading: string, content: Html, older: string | null): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>${content}${older === null ? '' : html`<p><a href="${older}">Older ${heading.toLowerCase()}</a></p>`}</section>`
}

const olderOf = (of: string, next: string | null) =>
  next === null ? null : `/console/money?${new URLSearchParams({ list: of, cursor: next })}#${of}`

/** Cards as cards. The number is told by the page that shows it once, and nowhere else. */
export function cardsSection({ rows, next }: ListTold<CardTold>, whose: Whose): Html {
  const cards = [...rows].sort(
    (a, b) => Number(b.attributes.status === 'active') - Number(a.attributes.status === 'active'),
  )
  const content =
    cards.length === 0
      ? html`<p class="aside">No agent issued a card yet.</p>`
      : html`<ul class="cards">${cards.map((card) => cardItem(card, whose))}</ul>`
  return section('cards', 'Cards', content, olderOf('cards', next))
}

function cardItem({ id, attributes }: Told<CardTold>, whose: Whose): Html {
  const { merchant, maximumAmount, expiresAt, status: state } = attributes
  const name = merchantName(merchant.name)
  return html`<li class="card ${state}" id="${id}"><p class="merchant"><bdi>${name}</bdi></p>
<p class="digits" aria-label="The number is not shown here">•••• •••• •••• ••••</p>
<p class="row"><span>up to ${dollars(maximumAmount)}</span> ${status(state)}</p>
<p class="row"><span>until ${when(expiresAt)}</span> ${runLink(whose, attributes, `the card for ${name}`)}</p></li>`
}

export function purchasesSection({ rows, next }: ListTold<PurchaseTold>, whose: Whose): Html {
  const content =
    rows.length === 0
      ? html`<p class="aside">No card was used yet.</p>`
      : html`<div class="wide-table"><table><caption class="unseen">Purchases, the newest first</caption><thead><tr><th scope="col">Merchant</th><th scope="col">Status</th><th scope="col" class="number">Amount</th><th scope="col" class="number">Held</th><th scope="col" class="number">Captured</th><th scope="col" class="number">Refunded</th><th scope="col">When</th><th scope="col">Run</th></tr></thead>
<tbody>${rows.map((row) => purchaseRow(row, whose))}</tbody></table></div>`
  return section('purchases', 'Purchases', content, olderOf('purchases', next))
}

function purchaseRow({ id, attributes }: Told<PurchaseTold>, whose: Whose): Html {
  const { kind, merchant, amount, held, captured, refunded, decline, createdAt } = attributes
  const name = merchantName(merchant.name)
  return html`<tr id="${id}"><th scope="row"><bdi>${name}</bdi>${kind === 'refund' ? ' (refund)' : ''}</th>
<td>${status(attributes.status)}${decline === null ? '' : html`<br><span class="aside">${decline.detail}</span>`}</td>
<td class="number">${dollars(amount)}</td><td class="number">${cents(held)}</td><td class="number">${cents(captured)}</td><td class="number">${cents(refunded)}</td>
<td>${when(createdAt)}</td><td>${runLink(whose, attributes, `the purchase at ${name}`)}</td></tr>`
}

const cents = (amount: number) => (amount === 0 ? '–' : dollars(amount))

export function paymentsSection({ rows, next }: ListTold<PaymentTold>, whose: Whose): Html {
  const content =
    rows.length === 0
      ? html`<p class="aside">Nothing was paid yet.</p>`
      : html`<div class="wide-table"><table><caption class="unseen">Payments, the newest first</caption><thead><tr><th scope="col">Payment</th><th scope="col">Status</th><th scope="col" class="number">Amount</th><th scope="col">Direction</th><th scope="col">When</th><th scope="col">Run</th></tr></thead>
<tbody>${rows.map((row) => paymentRow(row, whose))}</tbody></table></div>`
  return section('payments', 'Payments', content, olderOf('payments', next))
}

function paymentRow({ id, attributes, relationships }: Told<PaymentTold>, whose: Whose): Html {
  const { amount, description, createdAt } = attributes
  const isOut = relationships.sender?.data?.id === whose.partyId
  return html`<tr id="${id}"><th scope="row"><bdi>${foreignName(description ?? '', 'Without a description', 120)}</bdi></th>
<td>${status(attributes.status)}</td><td class="number">${dollars(amount)}</td><td>${isOut ? 'out' : 'in'}</td><td>${when(createdAt)}</td>
<td>${isOut ? runLink(whose, attributes, `the payment of ${dollars(amount)}`) : '–'}</td></tr>`
}
