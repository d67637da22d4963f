import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { parseTimestamp } from '../../../../core/system.ts'
import { type Column, table } from '../../../../display/table.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { Html } from '../../frame/document.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'
import type { ListTold, Told } from './read-money.ts'
import { type ListName, likeOf, merchantName, statusText } from './words.ts'

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

export interface TransferTold extends PaymentTold {
  type: 'deposit' | 'withdrawal' | 'internal'
  failure: { reason: string | null } | null
  return: { reason: string | null } | null
}

export interface RequestTold extends PaymentTold {
  payerName: string | null
  payerIdentifier: string
  requesterName: string | null
}

/** Whose lists they are. */
export interface Whose {
  partyId: string
  /** The names of the agents whose runs are the party's. */
  agents: ReadonlyMap<string, string>
}

const status = (text: string, why: string | null | undefined = null) =>
  html`<span class="state ${likeOf(text)}">${statusText(text)}</span>${why == null ? '' : html`<br><span class="aside"><bdi>${foreignName(why, 'Without a reason', 200)}</bdi></span>`}`

/** Whose agent did it, and the way to what it did besides. */
function by({ partyId, agents }: Whose, { agentId, instanceId }: Cause, what: string): Html {
  const name = agentId === null ? 'No agent' : agents.get(agentId)
  return name === undefined
    ? html`<span class="aside">for another party</span>`
    : html`<bdi>${foreignName(name, 'An agent without a name')}</bdi> <a href="/console/runs/${runIdOf(partyId, instanceId)}">its run<span class="unseen">: ${what}</span></a>`
}

const when = (text: string) => html`<time datetime="${text}">${shortMomentOf(parseTimestamp(text))}</time>`

function section(id: ListName, heading: string, content: Html, next: string | null): Html {
  const older = next === null ? null : `/console/money?${new URLSearchParams({ list: id, cursor: next })}#${id}`
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>${content}${older === null ? '' : html`<p><a href="${older}">Older ${heading.toLowerCase()}</a></p>`}</section>`
}

/** Cards as cards. The number is told by the page that shows it once, and nowhere else. */
export function cardsSection({ rows, next }: ListTold<CardTold>, whose: Whose): Html {
  const cards = [...rows].sort(
    (a, b) => Number(b.attributes.status === 'active') - Number(a.attributes.status === 'active'),
  )
  const content =
    cards.length === 0
      ? html`<p class="aside">No agent issued a card yet.</p>`
      : html`<ul class="tiles">${cards.map((card) => cardItem(card, whose))}</ul>`
  return section('cards', 'Cards', content, next)
}

function cardItem({ id, attributes }: Told<CardTold>, whose: Whose): Html {
  const { merchant, maximumAmount, expiresAt, status: state } = attributes
  const name = merchantName(merchant.name)
  return html`<li class="card ${state} box stack" id="${id}"><p><strong><bdi>${name}</bdi></strong></p>
<p class="digits" aria-label="The number is not shown here">•••• •••• •••• ••••</p>
<p class="line spread aside"><span>up to ${dollars(maximumAmount)}</span> ${status(state)}</p>
<p class="aside"><span>until ${when(expiresAt)}</span></p>
<p class="aside"><span>${by(whose, attributes, `the card for ${name}`)}</span></p></li>`
}

const idOf = ({ id }: { id: string }) => id

/** What every list of records has. */
const statusColumn: Column<Told<{ status: string }>> = { name: 'Status', of: (row) => status(row.attributes.status) }
const amountColumn: Column<Told<{ amount: number }>> = {
  name: 'Amount',
  isNumber: true,
  of: (row) => dollars(row.attributes.amount),
}
const whenColumn: Column<Told<Cause>> = { name: 'When', of: (row) => when(row.attributes.createdAt) }

const described = (text: string | null) => html`<bdi>${foreignName(text ?? '', 'Without a description', 120)}</bdi>`

/** An amount in cents, where none is the usual one. */
const cents = (amount: number) => (amount === 0 ? '–' : dollars(amount))

export function purchasesSection({ rows, next }: ListTold<PurchaseTold>, whose: Whose): Html {
  const columns: readonly [Column<Told<PurchaseTold>>, ...Column<Told<PurchaseTold>>[]] = [
    {
      name: 'Merchant',
      of: ({ attributes: { merchant, kind } }) =>
        html`<bdi>${merchantName(merchant.name)}</bdi>${kind === 'refund' ? ' (refund)' : ''}`,
    },
    { name: 'Status', of: ({ attributes }) => status(attributes.status, attributes.decline?.detail) },
    amountColumn,
    { name: 'Held', isNumber: true, of: ({ attributes }) => cents(attributes.held) },
    { name: 'Captured', isNumber: true, of: ({ attributes }) => cents(attributes.captured) },
    { name: 'Refunded', isNumber: true, of: ({ attributes }) => cents(attributes.refunded) },
    whenColumn,
    {
      name: 'Agent',
      of: ({ attributes }) => by(whose, attributes, `the purchase at ${merchantName(attributes.merchant.name)}`),
    },
  ]
  const content =
    rows.length === 0
      ? html`<p class="aside">No card was used yet.</p>`
      : table('Purchases, the newest first', columns, rows, idOf)
  return section('purchases', 'Purchases', content, next)
}

export function paymentsSection({ rows, next }: ListTold<PaymentTold>, whose: Whose): Html {
  const isOut = ({ relationships }: Told<PaymentTold>) => relationships.sender?.data?.id === whose.partyId
  const content =
    rows.length === 0
      ? html`<p class="aside">Nothing was paid yet.</p>`
      : table<Told<PaymentTold>>(
          'Payments, the newest first',
          [
            { name: 'Payment', of: ({ attributes }) => described(attributes.description) },
            statusColumn,
            amountColumn,
            { name: 'Direction', of: (row) => (isOut(row) ? 'out' : 'in') },
            whenColumn,
            {
              name: 'Agent',
              of: (row) =>
                isOut(row) ? by(whose, row.attributes, `the payment of ${dollars(row.attributes.amount)}`) : '–',
            },
          ],
          rows,
          idOf,
        )
  return section('payments', 'Payments', content, next)
}

const kindsOfTransfers = { deposit: 'deposit', withdrawal: 'withdrawal', internal: 'between wallets' } as const

export function transfersSection({ rows, next }: ListTold<TransferTold>, whose: Whose): Html {
  const content =
    rows.length === 0
      ? html`<p class="aside">Nothing was deposited, withdrawn or moved between wallets yet.</p>`
      : table<Told<TransferTold>>(
          'Transfers, the newest first',
          [
            { name: 'Transfer', of: ({ attributes }) => described(attributes.description) },
            {
              name: 'Status',
              of: ({ attributes: { status: state, failure, return: back } }) =>
                status(state, (back ?? failure)?.reason),
            },
            amountColumn,
            { name: 'Kind', of: ({ attributes }) => kindsOfTransfers[attributes.type] },
            whenColumn,
            {
              name: 'Agent',
              of: ({ attributes }) => by(whose, attributes, `the transfer of ${dollars(attributes.amount)}`),
            },
          ],
          rows,
          idOf,
        )
  return section('transfers', 'Transfers', content, next)
}

export function requestsSection({ rows, next }: ListTold<RequestTold>, whose: Whose): Html {
  const content =
    rows.length === 0
      ? html`<p class="aside">Nobody was asked for a payment yet.</p>`
      : table<Told<RequestTold>>(
          'Payment requests, the newest first',
          [
            { name: 'Request', of: ({ attributes }) => described(attributes.description) },
            { name: 'Of', of: ({ attributes }) => who(attributes.payerName ?? attributes.payerIdentifier) },
            statusColumn,
            amountColumn,
            whenColumn,
            {
              name: 'Agent',
              of: ({ attributes }) => by(whose, attributes, `the request for ${dollars(attributes.amount)}`),
            },
          ],
          rows,
          idOf,
        )
  return section('requests', 'Payment requests', content, next)
}

/** Others' requests that wait for this party's money. The runs that made them are theirs. */
export function askedSection({ rows, next }: ListTold<RequestTold>): Html {
  if (rows.length === 0) return html``
  const content = table<Told<RequestTold>>(
    'What others ask you to pay, the newest first',
    [
      { name: 'Request', of: ({ attributes }) => described(attributes.description) },
      { name: 'From', of: ({ attributes }) => who(attributes.requesterName ?? '') },
      statusColumn,
      amountColumn,
      whenColumn,
    ],
    rows,
    idOf,
  )
  return section('asked', 'Asked of you', content, next)
}

const who = (name: string) => html`<bdi>${foreignName(name, 'Somebody without a readable name')}</bdi>`
