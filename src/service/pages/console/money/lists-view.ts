import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { parseTimestamp } from '../../../../core/system.ts'
import { type Column, table } from '../../../../display/table.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { Html } from '../../frame/document.ts'
import { recordAddress } from '../../frame/ids.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'
import type { Resource, ResourceList } from './read-money.ts'
import { type ListName, merchantName, statusText, toneOf } from './words.ts'

interface Creation {
  agentId: string | null
  instanceId: string | null
  createdAt: string
}

export interface CardAttributes extends Creation {
  status: string
  merchant: { name: string }
  maximumAmount: number
  expiresAt: string
}

export interface PurchaseAttributes extends Creation {
  kind: 'purchase' | 'refund'
  status: string
  amount: number
  merchant: { name: string }
  held: number
  captured: number
  refunded: number
  decline: { code: string; detail: string } | null
}

export interface PaymentAttributes extends Creation {
  amount: number
  status: string
  description: string | null
}

export interface TransferAttributes extends PaymentAttributes {
  type: 'deposit' | 'withdrawal' | 'internal'
  failure: { reason: string | null } | null
  return: { reason: string | null } | null
}

export interface RequestAttributes extends PaymentAttributes {
  payerName: string | null
  payerIdentifier: string
  requesterName: string | null
}

/**
 * The party whose lists are shown, and the names of its payments and agents. The lists from the API do not contain
 * these names.
 */
export interface ListOwner {
  partyId: string
  /** The description or payee of each of the party's own payments, by payment id. */
  payments: ReadonlyMap<string, string | null>
  /** The names of the party's own agents, by agent id. The party can see only the runs of these agents. */
  agents: ReadonlyMap<string, string>
}

const status = (text: string, why: string | null | undefined = null) =>
  html`<span class="state ${toneOf(text)}">${statusText(text)}</span>${why == null ? '' : html`<br><span class="aside"><bdi>${foreignName(why, 'Without a reason', 200)}</bdi></span>`}`

/**
 * Renders the name of the agent that created a record, with a link to the run in which the agent created it. If the
 * agent belongs to another party, renders neither its name nor a link.
 */
function agentAndRun({ partyId, agents }: ListOwner, { agentId, instanceId }: Creation, noun: string): Html {
  const name = agentId === null ? 'No agent' : agents.get(agentId)
  return name === undefined
    ? html`<span class="aside">another party’s agent</span>`
    : html`<bdi>${foreignName(name, 'An agent without a name')}</bdi> <a href="/console/runs/${runIdOf(partyId, instanceId)}">View run<span class="unseen">: ${noun}</span></a>`
}

const when = (text: string) => html`<time datetime="${text}">${shortMomentOf(parseTimestamp(text))}</time>`

function section(id: ListName, heading: string, content: Html, next: string | null): Html {
  const older = next === null ? null : `/console/money?${new URLSearchParams({ list: id, cursor: next })}#${id}`
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>${content}${older === null ? '' : html`<p><a href="${older}">Older ${heading.toLowerCase()}</a></p>`}</section>`
}

/** Renders cards as tiles, without the card numbers. Only a separate page shows the number of a card, and only once. */
export function cardsSection({ rows, next }: ResourceList<CardAttributes>, owner: ListOwner): Html {
  const cards = [...rows].sort(
    (a, b) => Number(b.attributes.status === 'active') - Number(a.attributes.status === 'active'),
  )
  const content =
    cards.length === 0
      ? html`<p class="aside">No cards yet.</p>`
      : html`<ul class="tiles">${cards.map((card) => cardItem(card, owner))}</ul>`
  return section('cards', 'Cards', content, next)
}

function cardItem({ id, attributes }: Resource<CardAttributes>, owner: ListOwner): Html {
  const { merchant, maximumAmount, expiresAt, status: state } = attributes
  const name = merchantName(merchant.name)
  return html`<li class="card ${state} box stack" id="${id}"><p><strong>${named(id, name)}</strong></p>
<p class="digits" aria-label="The number is not shown here">•••• •••• •••• ••••</p>
<p class="line spread aside"><span>up to ${dollars(maximumAmount)}</span> ${status(state)}</p>
<p class="aside"><span>until ${when(expiresAt)}</span></p>
<p class="aside"><span>${agentAndRun(owner, attributes, `the card for ${name}`)}</span></p></li>`
}

const statusColumn: Column<Resource<{ status: string }>> = {
  name: 'Status',
  cell: (row) => status(row.attributes.status),
}
const amountColumn: Column<Resource<{ amount: number }>> = {
  name: 'Amount',
  isNumber: true,
  cell: (row) => dollars(row.attributes.amount),
}
const whenColumn: Column<Resource<Creation>> = { name: 'When', cell: (row) => when(row.attributes.createdAt) }

/** Renders a record's name as a link to the record's page. */
const named = (id: string, name: string) => html`<a href="${recordAddress(id)}" id="open-${id}"><bdi>${name}</bdi></a>`

const describedColumn = (name: string): Column<Resource<{ description: string | null }>> => ({
  name,
  cell: ({ id, attributes }) => named(id, foreignName(attributes.description ?? '', 'Without a description', 120)),
})

/** Formats an amount in cents. Zero becomes a dash, because otherwise most cells would show $0.00. */
const cents = (amount: number) => (amount === 0 ? '–' : dollars(amount))

const agentColumn = <Attributes extends Creation>(
  owner: ListOwner,
  noun: (attributes: Attributes) => string,
): Column<Resource<Attributes>> => ({
  name: 'Agent',
  cell: ({ attributes }) => agentAndRun(owner, attributes, noun(attributes)),
})

interface List<Attributes> {
  id: ListName
  heading: string
  /** The start of the table's caption, which is for screen readers. By default, the caption starts with the heading. */
  caption?: string
  /** The text shown if there are no rows. */
  none: string
  columns: readonly [Column<Resource<Attributes>>, ...Column<Resource<Attributes>>[]]
}

function listSection<Attributes>(
  { rows, next }: ResourceList<Attributes>,
  { id, heading, caption = heading, none, columns }: List<Attributes>,
): Html {
  if (rows.length === 0) return section(id, heading, html`<p class="aside">${none}</p>`, next)
  return section(
    id,
    heading,
    table(`${caption}, newest first`, columns, rows, ({ id: rowId }) => rowId),
    next,
  )
}

export function purchasesSection(list: ResourceList<PurchaseAttributes>, owner: ListOwner): Html {
  return listSection(list, {
    id: 'purchases',
    heading: 'Purchases',
    none: 'No purchases yet.',
    columns: [
      {
        name: 'Merchant',
        cell: ({ id, attributes: { merchant, kind } }) =>
          html`${named(id, merchantName(merchant.name))}${kind === 'refund' ? ' (refund)' : ''}`,
      },
      { name: 'Status', cell: ({ attributes }) => status(attributes.status, attributes.decline?.detail) },
      amountColumn,
      { name: 'Held', isNumber: true, cell: ({ attributes }) => cents(attributes.held) },
      { name: 'Captured', isNumber: true, cell: ({ attributes }) => cents(attributes.captured) },
      { name: 'Refunded', isNumber: true, cell: ({ attributes }) => cents(attributes.refunded) },
      whenColumn,
      agentColumn(owner, ({ merchant }) => `the purchase at ${merchantName(merchant.name)}`),
    ],
  })
}

export function paymentsSection(list: ResourceList<PaymentAttributes>, owner: ListOwner): Html {
  const isOut = ({ relationships }: Resource<PaymentAttributes>) => relationships.sender?.data?.id === owner.partyId
  const agent = agentColumn<PaymentAttributes>(owner, ({ amount }) => `the payment of ${dollars(amount)}`)
  return listSection(list, {
    id: 'payments',
    heading: 'Payments',
    none: 'No payments yet.',
    columns: [
      {
        name: 'Payment',
        cell: ({ id, attributes: { description } }) =>
          named(id, foreignName(description ?? owner.payments.get(id) ?? '', 'Without a description', 120)),
      },
      statusColumn,
      amountColumn,
      { name: 'Direction', cell: (row) => (isOut(row) ? 'out' : 'in') },
      whenColumn,
      { ...agent, cell: (row) => (isOut(row) ? agent.cell(row) : '–') },
    ],
  })
}

const kindsOfTransfers = { deposit: 'deposit', withdrawal: 'withdrawal', internal: 'between wallets' } as const

export function transfersSection(list: ResourceList<TransferAttributes>, owner: ListOwner): Html {
  return listSection(list, {
    id: 'transfers',
    heading: 'Transfers',
    none: 'No transfers yet.',
    columns: [
      describedColumn('Transfer'),
      {
        name: 'Status',
        cell: ({ attributes: { status: state, failure, return: back } }) => status(state, (back ?? failure)?.reason),
      },
      amountColumn,
      { name: 'Kind', cell: ({ attributes }) => kindsOfTransfers[attributes.type] },
      whenColumn,
      agentColumn(owner, ({ amount }) => `the transfer of ${dollars(amount)}`),
    ],
  })
}

export function requestsSection(list: ResourceList<RequestAttributes>, owner: ListOwner): Html {
  return listSection(list, {
    id: 'requests',
    heading: 'Payment requests',
    none: 'No payment requests yet.',
    columns: [
      describedColumn('Request'),
      { name: 'Payer', cell: ({ attributes }) => who(attributes.payerName ?? attributes.payerIdentifier) },
      statusColumn,
      amountColumn,
      whenColumn,
      agentColumn(owner, ({ amount }) => `the request for ${dollars(amount)}`),
    ],
  })
}

/**
 * Renders the payment requests that the party received. The table has no agent column, because the requests were made
 * by other parties' agents, and the party cannot see the runs of those agents.
 */
export function incomingRequestsSection(list: ResourceList<RequestAttributes>): Html {
  if (list.rows.length === 0) return html``
  return listSection(list, {
    id: 'asked',
    heading: 'Requested from you',
    caption: 'Payments that others requested from you',
    none: '',
    columns: [
      describedColumn('Request'),
      { name: 'From', cell: ({ attributes }) => who(attributes.requesterName ?? '') },
      statusColumn,
      amountColumn,
      whenColumn,
    ],
  })
}

const who = (name: string) => html`<bdi>${foreignName(name, 'A person without a readable name')}</bdi>`
