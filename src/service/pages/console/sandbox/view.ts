import { html } from 'hono/html'
import { catalogue } from '../../../../../tools/index.ts'
import { errorTable } from '../../../../core/errors.ts'
import { faultKinds } from '../../../../core/faults.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import { parseTimestamp, timestamp } from '../../../../core/system.ts'
import { type Column, table } from '../../../../display/table.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { Html } from '../../frame/document.ts'
import { idLink } from '../../frame/ids.ts'
import { momentOf } from '../../frame/texts.ts'
import { livePart, versionOf } from '../console-page.ts'
import type { ClockSeen, FaultAttributes, Managed, Resource, SandboxSeen } from './read-sandbox.ts'
import type { Upcoming } from './upcoming.ts'
import { address, distance, faultWords, kindWords, partAddress, unproven, worldName } from './words.ts'

const minuteMs = 60_000

export interface PageState {
  seen: SandboxSeen
  partyId: string
  token: string
  /** The message after a successful action. */
  done: string | null
  problem: string | null
}

/** Renders the content of the sandbox page. */
export function sandboxMain(state: PageState): Html {
  const { seen, token, done, problem } = state
  const { managed } = seen
  return html`<h1>Sandbox</h1>
${problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`}
${done === null ? '' : html`<p role="status" class="done">${done}</p>`}
<div class="tiles">
<section aria-labelledby="clock"><h2 id="clock">Clock</h2>${livePart('sandbox', partAddress('clock'), clockPart(seen, token), clockVersion(seen))}
<details><summary>Move to a date and time</summary>${form('to', token, html`<label>To (UTC) <input type="datetime-local" name="to" step="1" required></label><button type="submit" class="quiet">Move</button>`)}</details></section>
${worldSection(seen)}
</div>
${managed === undefined ? notManaged(seen.mayManage) : managedSections(managed, token)}
${shopsSection(state)}`
}

/**
 * Returns the version of the clock's part of the page. The version changes every minute, when the clock is moved, and
 * when the list of upcoming events changes. Changes to the events' records do not count, because such changes are rare.
 */
export function clockVersion({ nowMs, movedMs, nextMs, next }: ClockSeen): string {
  const events = next.map(({ kind, id, atMs }) => [kind, id, atMs])
  return versionOf([Math.floor(nowMs / minuteMs), movedMs, nextMs, events])
}

/** Renders the content of the live part that shows the clock. */
export function clockPart({ nowMs, movedMs, nextMs, next }: ClockSeen, token: string): Html {
  const isMoved = Math.abs(movedMs) >= 1000
  const movedField = html`<input type="hidden" name="moved" value="${movedMs}">`
  return html`<p class="now"><time datetime="${timestamp(nowMs)}">${momentOf(nowMs)}</time></p>
<p class="aside">${isMoved ? `${distance(movedMs)} ahead of real time. Only a reset or a restore moves it back.` : 'Follows real time until you move it.'}</p>
<div class="line">
${form('hour', token, html`${movedField}<button type="submit" class="quiet" id="hour">+1 hour</button>`)}
${form('day', token, html`${movedField}<button type="submit" class="quiet" id="day">+1 day</button>`)}
${nextMs === null ? '' : form('next', token, html`<input type="hidden" name="at" value="${nextMs}"><button type="submit" id="next">Go to the next event</button>`)}
</div>
<h3>Upcoming events</h3>
${
  next.length === 0
    ? html`<p>No upcoming events.</p>`
    : html`<ul class="list">${next.map((event) => nextItem(event, nowMs))}</ul>`
}
${nextMs !== null && !next.some(({ atMs }) => atMs <= nextMs) ? html`<p class="aside">Another party’s event comes first, on ${momentOf(nextMs)}.</p>` : ''}`
}

function nextItem({ kind, id, atMs, record }: Upcoming, nowMs: number): Html {
  const sentence =
    record === null
      ? idLink(id)
      : html`<bdi>${record.description}</bdi>, <a href="${record.address}">${record.linkText}<span class="unseen">: ${record.description}</span></a>`
  return html`<li id="next-${kind}-${id}">${record?.eventText ?? kindWords[kind]}: ${sentence}<br><span class="aside"><time datetime="${timestamp(atMs)}">${momentOf(atMs)}</time>, ${atMs <= nowMs ? 'now' : `in ${distance(atMs - nowMs)}`}</span></li>`
}

function form(action: string, token: string, fields: Html): Html {
  return html`<form method="post" action="${address}/${action}"><input type="hidden" name="formToken" value="${token}">${fields}</form>`
}

function worldSection({ world }: SandboxSeen): Html {
  return html`<section aria-labelledby="world"><h2 id="world">World</h2>
<dl class="figures"><div><dt>World file</dt><dd><bdi>${worldName(world?.digest ?? null)}</bdi></dd></div>
<div><dt>Used for</dt><dd>${world?.isRehearsal === true ? 'A rehearsal: agents can’t manage the sandbox' : 'General use'}</dd></div></dl>
</section>`
}

const notManaged = (
  mayManage: boolean,
) => html`<section aria-labelledby="managing"><h2 id="managing">Faults, reset, save and restore</h2>
<p>${mayManage ? 'Only users of the world’s first party can manage the sandbox. Sign in as one of them to set faults, and to reset, save and restore the sandbox.' : unproven}</p></section>`

function managedSections({ faults, snapshots }: Managed, token: string): Html {
  return html`<section aria-labelledby="faults"><h2 id="faults">Faults</h2>
${livePart('sandbox', partAddress('faults'), faultsPart({ faults, snapshots }, token), versionOf(faults))}
${faultForm(token)}</section>
<div class="tiles">
<section aria-labelledby="snapshots"><h2 id="snapshots">Snapshots</h2>
${form('save', token, html`<label>Name <input name="name" required maxlength="64" pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" title="Letters, digits, dots, hyphens or underscores" autocomplete="off"></label><button type="submit" class="quiet">Save</button>`)}
${livePart('sandbox', partAddress('snapshots'), snapshotsPart({ faults, snapshots }, token), versionOf(snapshots))}</section>
<section aria-labelledby="reset"><h2 id="reset">Reset</h2>
<p>Returns the sandbox, including its clock, to its initial state.</p>
<details><summary>Reset…</summary><p>Deletes all runs, and all cards, purchases and payments that are not part of the initial state, for every user. Sign-ins, connections and snapshots stay. The world’s ids and keys keep working.</p>${form('reset', token, html`<button type="submit" class="danger">Reset the sandbox</button>`)}</details></section>
</div>`
}

/** Renders the content of the live part that lists the snapshots. */
export function snapshotsPart({ snapshots }: Managed, token: string): Html {
  if (snapshots.length === 0) return html`<p class="aside">No snapshots yet.</p>`
  return html`<ul class="list">${snapshots.map(
    ({
      attributes: { name, now },
    }) => html`<li id="saved-${name}" class="line spread"><div><strong>${name}</strong><br><span class="aside">Clock at ${momentOf(parseTimestamp(now))}</span></div>
<div class="line"><details id="restore-${name}"><summary>Restore…</summary><p>Deletes everything created after the snapshot, for every user, and sets the clock back to the snapshot’s time.</p>${form('restore', token, html`<input type="hidden" name="name" value="${name}"><button type="submit" class="danger">Restore ${name}</button>`)}</details>
${form('delete', token, html`<input type="hidden" name="name" value="${name}"><button type="submit" class="quiet">Delete<span class="unseen"> ${name}</span></button>`)}</div></li>`,
  )}</ul>`
}

/** Renders the content of the live part that lists the faults. */
export function faultsPart({ faults }: Managed, token: string): Html {
  const removable = faults.filter(({ attributes }) => attributes.origin !== 'built_in')
  const clearColumn: Column<Resource<FaultAttributes>> = {
    name: 'Clear',
    hidesName: true,
    cell: ({ id, attributes: { origin } }) =>
      origin === 'built_in'
        ? 'built in'
        : form(
            'clear',
            token,
            html`<input type="hidden" name="faultId" value="${id}"><button type="submit" class="quiet small" id="clear-${id}">Clear<span class="unseen"> ${id}</span></button>`,
          ),
  }
  return html`${table('Faults', [...faultColumns, clearColumn], faults, ({ id }) => `fault-${id}`)}
${removable.length > 1 ? form('clear', token, html`<button type="submit" class="quiet" id="clear-all">Clear all</button>`) : ''}`
}

const faultColumns: readonly [Column<Resource<FaultAttributes>>, ...Column<Resource<FaultAttributes>>[]] = [
  { name: 'Rule', cell: ({ id }) => html`<code>${id}</code>` },
  {
    name: 'Applies to',
    cell: ({ attributes }) => html`<bdi>${foreignName(whereOf(attributes), 'everything', 120)}</bdi>`,
  },
  {
    name: 'Fault',
    cell: ({ attributes: { fault, code, afterMs } }) =>
      html`${fault}${code === null ? '' : html` <code>${code}</code>`}${afterMs === null ? '' : `, ${afterMs} ms`}`,
  },
  {
    name: 'When',
    cell: ({ attributes: { when } }) => {
      const conditions = Object.entries(when).filter(([, value]) => value !== null)
      return conditions.length === 0
        ? 'always'
        : html`${conditions.map(([name, value]) => html`${name} <bdi>${foreignName(String(value), '–')}</bdi> `)}`
    },
  },
  { name: 'Matched', isNumber: true, cell: ({ attributes: { matched } }) => String(matched ?? '–') },
  { name: 'Applied', isNumber: true, cell: ({ attributes: { hits } }) => String(hits ?? '–') },
]

const whereOf = ({ merchant, operation, path }: FaultAttributes) =>
  merchant === null ? [operation, path].filter((one) => one !== null).join(' at ') : `authorizations at ${merchant}`

const operations = Object.values(catalogue)
  .map(({ name }) => name)
  .sort()

function faultForm(token: string): Html {
  return html`<details><summary>Add a fault</summary>
${form(
  'fault',
  token,
  html`<label>Tool <input name="operation" list="fault-operations" maxlength="64" placeholder="such as create_payment, or *" autocomplete="off" spellcheck="false"></label>
<datalist id="fault-operations"><option value="*"></option>${operations.map((name) => html`<option value="${name}"></option>`)}</datalist>
<label>or path <input name="path" maxlength="200" placeholder="/agent-cards/*" autocomplete="off" spellcheck="false"></label>
<label>Fault <select name="fault" required>${faultKinds.map((kind) => html`<option value="${kind}">${kind}: ${faultWords[kind]}</option>`)}</select></label>
<label>Error code <select name="code"><option value="">server_error</option>${Object.keys(errorTable).map((code) => html`<option value="${code}">${code}</option>`)}</select></label>
<label>Delay (ms) <input name="afterMs" inputmode="numeric" maxlength="6"></label>
<label>Only the nth request <input name="nth" inputmode="numeric" maxlength="7"></label>
<label>Every nth request <input name="every" inputmode="numeric" maxlength="7"></label>
<label>At most this many times <input name="times" inputmode="numeric" maxlength="7"></label>
<label>Probability <input name="probability" inputmode="decimal" maxlength="8" placeholder="0.1"></label>
<label>Only in the run with the instance id <input name="instanceId" maxlength="1024" autocomplete="off" spellcheck="false"></label>
<label>Name <input name="id" maxlength="64" placeholder="generated" autocomplete="off" spellcheck="false"></label>
<button type="submit">Add the fault</button>`,
)}</details>`
}

function shopsSection({ seen: { shops, orders }, partyId }: PageState): Html {
  return html`<section aria-labelledby="shops"><h2 id="shops">Shops</h2>
<ul class="tiles">${shops.map(({ id, attributes: { name, about } }) => html`<li><a href="/shops/${id}"><bdi>${foreignName(name, id)}</bdi></a><br><span class="aside"><bdi>${foreignName(about, '', 160)}</bdi></span></li>`)}</ul>
${orders.length === 0 ? '' : html`<h3>Recent orders</h3>${table('Recent orders', orderColumns(partyId), orders, ({ id }) => id)}`}</section>`
}

const orderColumns = (
  partyId: string,
): readonly [Column<SandboxSeen['orders'][number]>, ...Column<SandboxSeen['orders'][number]>[]] => [
  { name: 'Order', cell: ({ id }) => idLink(id) },
  { name: 'Shop', cell: ({ shopId }) => html`<a href="/shops/${shopId}">${shopId}</a>` },
  { name: 'Status', cell: ({ status }) => status.replaceAll('_', ' ') },
  { name: 'Placed', cell: ({ createdAtMs }) => momentOf(createdAtMs) },
  { name: 'Next event', cell: ({ nextEventAtMs }) => (nextEventAtMs === null ? '–' : momentOf(nextEventAtMs)) },
  {
    name: 'Run',
    cell: ({ id, instanceId }) =>
      html`<a href="/console/runs/${runIdOf(partyId, instanceId)}">View run<span class="unseen">: ${id}</span></a>`,
  },
]
