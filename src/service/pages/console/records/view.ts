import { html } from 'hono/html'
import { catalogue } from '../../../../../tools/index.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { OperationDefinition } from '../../../../core/operation.ts'
import { timestamp } from '../../../../core/system.ts'
import { type Column, table } from '../../../../display/table.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { Html } from '../../frame/document.ts'
import { idLink, recordAddress, shortIdLink, withLinkedIds } from '../../frame/ids.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'
import { accountText, reasonText } from '../ledger-words.ts'
import { statusText, toneOf } from '../money/words.ts'
import { declineText, describeCall } from '../runs/call-texts.ts'
import { addressOf, readableJson, runName, stateOf } from '../runs/words.ts'
import type { EntriesFound, EntryFound, RecordDetails, RecordPage } from './read-record.ts'

const titles = new Map(Object.values<OperationDefinition>(catalogue).map(({ name, title }) => [name, title]))

/** Nouns by id prefix, for kinds of records whose noun cannot be derived from the title of a read operation. */
const nouns: Readonly<Record<string, string>> = {
  act: 'activity',
  pst: 'posting',
  whd: 'webhook delivery',
  inv: 'invitation',
  adi: 'invitation',
  cit: 'customer invitation',
  pmi: 'member invitation',
  sco: 'shop checkout',
  dcn: 'decision',
  usr: 'user',
  pty: 'party',
}

type LedgerEntry = RecordDetails['money']['rows'][number]
type Act = RecordDetails['activity'][number]

/** Renders a record with its state and its history. */
export function recordMain(shown: RecordDetails, page: RecordPage): Html {
  const { id, now, related } = shown
  const noun = shown.noun ?? nouns[id.slice(0, 3)] ?? 'record'
  const attributes = attributesIn(now)
  return html`<p class="aside"><a href="/console">Runs</a> · <a href="/console/money">Money</a></p>
<h1>${noun.charAt(0).toUpperCase()}${noun.slice(1)}</h1>
<p><code id="record-id">${id}</code> <button type="button" class="quiet small scripted" data-copies="record-id">Copy<span class="unseen"> the id</span></button><span role="status" class="said"></span></p>
${figures(attributes, shown.payee)}
${specialPageLink(id, attributes)}
${related.length === 0 ? '' : html`<section aria-labelledby="related"><h2 id="related">Related</h2><p class="ids">${related.map((other) => html`${idLink(other)} `)}</p></section>`}
${moneyPart(shown, page)}
${callsPart(shown, page)}
${eventsPart(shown, page)}
${activityPart(shown)}
${now === null ? '' : html`<section aria-labelledby="now"><h2 id="now">State now</h2><pre tabindex="0" aria-label="The record, JSON"><code>${withLinkedIds(readableJson(now))}</code></pre></section>`}`
}

type Attributes = Readonly<Record<string, unknown>>

function attributesIn(now: string | null): Attributes {
  try {
    return (JSON.parse(now ?? '{}') as { data?: { attributes?: Attributes } }).data?.attributes ?? {}
  } catch {
    // The JSON of a large record is cut off, so it may be invalid.
    return {}
  }
}

const amounts = [
  ['amount', 'Amount'],
  ['maximumAmount', 'Up to'],
  ['total', 'Total'],
  ['held', 'Held'],
  ['captured', 'Captured'],
  ['refunded', 'Refunded'],
] as const

/**
 * Renders a record's name, payee, status, amounts and decline reason. Leaves out those that the record does not have.
 */
function figures(attributes: Attributes, payee: string | null): Html {
  const { status, merchant, name, displayName, description, decline } = attributes
  const shownName = [(merchant as { name?: unknown } | undefined)?.name, name, displayName, description].find(
    (one) => typeof one === 'string',
  )
  const { code, detail } = (decline ?? {}) as { code?: unknown; detail?: unknown }
  const facts = [
    ...(typeof shownName === 'string'
      ? [
          fact(
            merchant === undefined ? 'Name' : 'Merchant',
            html`<bdi>${foreignName(shownName, 'Without a readable name', 120)}</bdi>`,
          ),
        ]
      : []),
    ...(payee === null ? [] : [fact('To', html`<bdi>${foreignName(payee, 'Without a readable name', 120)}</bdi>`)]),
    ...(typeof status === 'string'
      ? [fact('Status', html`<span class="state ${toneOf(status)}">${statusText(status)}</span>`)]
      : []),
    ...amounts.flatMap(([key, title]) => {
      const cents = attributes[key]
      return typeof cents === 'number' ? [fact(title, dollars(cents))] : []
    }),
    ...(typeof code === 'string'
      ? [fact('Declined because', html`<bdi>${foreignName(String(detail ?? code), code, 200)}</bdi>`)]
      : []),
  ]
  return facts.length === 0 ? html`` : html`<dl class="figures">${facts}</dl>`
}

const fact = (title: string, value: Html | string) => html`<div><dt>${title}</dt><dd>${value}</dd></div>`

/**
 * Renders a link to the special page for this kind of record, or to the page of the record's shop. Renders nothing if
 * there is neither.
 */
function specialPageLink(id: string, { shopId }: Attributes): Html {
  if (id.startsWith('wal_')) return html`<p><a href="/console/money/wallets/${id}">Balance and transactions</a></p>`
  if (id.startsWith('agt_')) return html`<p><a href="/console?agent=${id}">Runs of this agent</a></p>`
  if (id.startsWith('apr_')) return html`<p><a href="/approvals/${id}/review">Review</a></p>`
  return typeof shopId === 'string' && /^[\w-]+$/.test(shopId)
    ? html`<p><a href="/shops/${shopId}">The shop</a></p>`
    : html``
}

function section(id: string, heading: string, content: Html): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>${content}</section>`
}

/** Renders the rows that a search found, or a sentence if it found none. Adds a link if the search can continue. */
function found(
  rows: readonly unknown[],
  content: () => Html,
  { none, onward }: { none: string; onward: string | null },
): Html {
  const more = rows.length === 0 ? 'Continue the search' : 'Show more'
  return html`${rows.length === 0 ? html`<p class="aside">${none}${onward === null ? '' : ' so far'}.</p>` : content()}${onward === null ? '' : html`<p><a href="${onward}">${more}</a></p>`}`
}

const at = (ms: number) => html`<time datetime="${timestamp(ms)}">${shortMomentOf(ms)}</time>`

function nextUrl(
  id: string,
  page: RecordPage,
  part: Partial<Record<keyof RecordPage, string | number | null>>,
): string | null {
  const [cursor] = Object.values(part)
  if (cursor === null) return null
  const [name = ''] = Object.keys(part)
  const query = Object.entries({ ...page, ...part }).map(([key, value]) => [
    key,
    value === null ? undefined : String(value),
  ])
  return `${addressOf(recordAddress(id), Object.fromEntries(query))}#${name}`
}

function moneyPart({ id, money }: RecordDetails, page: RecordPage): Html {
  const columns: readonly [Column<LedgerEntry>, ...Column<LedgerEntry>[]] = [
    { name: 'Type', cell: ({ reason }) => reasonText(reason) },
    {
      name: 'Account',
      cell: ({ account, walletId }) =>
        walletId === null ? accountText(account) : html`${shortIdLink(walletId)}, ${accountText(account)}`,
    },
    { name: 'Amount', isNumber: true, cell: ({ amountCents }) => dollars(amountCents) },
    { name: 'When', cell: ({ createdAtMs }) => at(createdAtMs) },
    { name: 'For', cell: ({ sourceId }) => (sourceId === null ? '–' : shortIdLink(sourceId)) },
    { name: 'Posting', cell: ({ postingId }) => shortIdLink(postingId) },
  ]
  const content = () => table('Ledger entries', columns, money.rows, (row) => row.id)
  return section(
    'money',
    'Money',
    found(money.rows, content, { none: 'No ledger entries found', onward: nextUrl(id, page, { money: money.lastId }) }),
  )
}

function callsPart({ id, calls }: RecordDetails, page: RecordPage): Html {
  const content = () => entriesTable('Calls and other entries that mention this record', calls)
  return section(
    'calls',
    'Calls',
    found(calls.rows, content, { none: 'No entries found', onward: nextUrl(id, page, { calls: calls.lastId }) }),
  )
}

function deedWithDecline(entry: EntryFound): string {
  const declined = declineText(entry)
  return `${describeCall(entry)}${declined === null ? '' : `: declined, ${declined}`}`
}

/** Renders a table of run entries, which may belong to different runs. */
export function entriesTable(caption: string, { rows }: EntriesFound, more: readonly Column<EntryFound>[] = []): Html {
  return table<EntryFound>(
    caption,
    [
      {
        name: 'Entry',
        cell: (entry) =>
          html`<a href="/console/runs/${entry.runId}/entries/${entry.id}"><bdi>${entry.kind === 'happened' ? reasonText(entry.operation) : deedWithDecline(entry)}</bdi></a>`,
      },
      {
        name: 'Outcome',
        cell: (entry) => {
          const { text, tone, mark } = stateOf(entry)
          return html`<span class="state ${tone}"><span aria-hidden="true">${mark}</span> ${text}</span>`
        },
      },
      { name: 'When', cell: ({ atMs }) => at(atMs) },
      {
        name: 'Agent',
        cell: ({ agentName, runId, id }) =>
          html`<bdi>${agentName === null ? 'No agent' : foreignName(agentName, 'An agent without a name')}</bdi> <a href="/console/runs/${runId}">View run<span class="unseen">: ${id}</span></a>`,
      },
      ...more,
    ],
    rows,
    ({ id }) => id,
  )
}

function eventsPart({ id, events: { rows, lastSequence } }: RecordDetails, page: RecordPage): Html {
  const content = () =>
    table<(typeof rows)[number]>(
      'Events, newest first',
      [
        { name: 'Event', cell: ({ type }) => type },
        { name: 'When', cell: ({ createdAtMs }) => at(createdAtMs) },
        { name: 'Id', cell: (event) => shortIdLink(event.id) },
      ],
      rows,
      (event) => event.id,
    )
  return section(
    'events',
    'Events',
    found(rows, content, { none: 'No events found', onward: nextUrl(id, page, { events: lastSequence }) }),
  )
}

const actors = { user: 'A user', party: 'An API key', agent: 'An agent', visitor: 'A visitor who used a link' } as const

function activityPart({ activity, partyId }: RecordDetails): Html {
  if (activity.length === 0) return html``
  const columns: readonly [Column<Act>, ...Column<Act>[]] = [
    { name: 'Operation', cell: ({ operation }) => titles.get(operation) ?? operation.replaceAll('_', ' ') },
    { name: 'Result', cell: ({ code }) => (code === null ? 'done' : html`<span class="state bad">${code}</span>`) },
    {
      name: 'By',
      cell: ({ actorType, agentId, userId }) =>
        html`${actors[actorType]}${(agentId ?? userId) === null ? '' : html` ${shortIdLink(agentId ?? userId ?? '')}`}`,
    },
    { name: 'When', cell: ({ createdAtMs }) => at(createdAtMs) },
    {
      name: 'Run',
      cell: ({ instanceId, id }) =>
        instanceId === null
          ? '–'
          : html`<a href="/console/runs/${runIdOf(partyId, instanceId)}"><bdi>${runName(instanceId)}</bdi><span class="unseen">: ${id}</span></a>`,
    },
    { name: 'Id', cell: ({ id }) => shortIdLink(id) },
  ]
  return section(
    'activity',
    'Activity',
    table('Changes and refused attempts, newest first', columns, activity, ({ id }) => id),
  )
}

/**
 * Renders the page for an id that was not found. The record may belong to another party, may have been deleted, or may
 * never have existed.
 */
export function nothingFoundMain(id: string): Html {
  return html`<h1>Not found</h1>
<p role="alert">Nothing was found for <bdi>${foreignName(id, 'this id')}</bdi>. Check the id. Runs are deleted after 30 days, or when the sandbox is reset or restored.</p>
<p><a href="${addressOf('/console/search', { text: id })}">Search requests and answers for this id</a></p>
<p><a href="/console">All runs</a></p>`
}
