import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { Html } from '../../frame/document.ts'
import { recordAddress } from '../../frame/ids.ts'
import { dollars } from '../../frame/texts.ts'
import type { Resource } from './read-money.ts'
import { statusText, toneOf } from './words.ts'

export interface SubscriptionAttributes {
  status: string
  terms: { description: string; every: { unit: string; count: number } }
  nextPayment: { paymentNumber: number; dueDate: string | null; amount: number } | null
  attention: { reason: string } | null
}

export interface SubscriptionPaymentAttributes {
  paymentNumber: number
  dueDate: string | null
  status: string
  amount: number
}

export interface SubscriptionWithPayments {
  subscription: Resource<SubscriptionAttributes>
  payments: readonly Resource<SubscriptionPaymentAttributes>[]
}

/** Renders each subscription with a calendar of its payments and their statuses. */
export function subscriptionsSection(subscriptions: readonly SubscriptionWithPayments[], hasMore: boolean): Html {
  return html`<section aria-labelledby="subscriptions"><h2 id="subscriptions">Subscriptions</h2>
${
  subscriptions.length === 0
    ? html`<p class="aside">No subscriptions yet.</p>`
    : html`<ul class="list">${subscriptions.map(subscriptionItem)}</ul>`
}${hasMore ? html`<p class="aside">Showing the newest ${subscriptions.length}. The tool list_subscriptions returns all.</p>` : ''}</section>`
}

function subscriptionItem({ subscription: { id, attributes }, payments }: SubscriptionWithPayments): Html {
  const { status, terms, nextPayment, attention } = attributes
  const { every, description } = terms
  const frequency = every.count === 1 ? `every ${every.unit}` : `every ${every.count} ${every.unit}s`
  const dated = payments.filter(({ attributes: { dueDate } }) => dueDate !== null)
  return html`<li id="${id}"><h3><a href="${recordAddress(id)}" id="open-${id}"><bdi>${foreignName(description, 'Without a description', 120)}</bdi></a></h3>
<p><span class="state ${toneOf(status)}">${statusText(status)}</span>, ${frequency}${nextPayment === null ? '' : `; next due ${dollars(nextPayment.amount)}${nextPayment.dueDate === null ? '' : ` on ${nextPayment.dueDate}`}`}${attention === null ? '' : html`, <span class="state bad">${statusText(attention.reason)}</span>`}</p>
${dated.length === 0 ? '' : html`<ol class="row" aria-label="Calendar">${dated.toReversed().map(dayItem)}</ol>`}</li>`
}

/** Renders a payment as a calendar sheet with its due date, amount and status. */
function dayItem({
  attributes: { dueDate, status, amount, paymentNumber },
}: Resource<SubscriptionPaymentAttributes>): Html {
  const [year = '', month = '', day = ''] = (dueDate ?? '').split('-')
  return html`<li class="sheet box ${toneOf(status)}"><time datetime="${dueDate ?? ''}"><span class="aside">${months[Number(month) - 1] ?? ''} ${year}</span><span class="day">${Number(day)}</span></time><span>${dollars(amount)}</span><span class="state ${toneOf(status)}">${statusText(status)}<span class="unseen">, payment ${paymentNumber}</span></span></li>`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const
