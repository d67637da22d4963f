import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { timestamp } from '../../../../core/system.ts'
import type { Html } from '../../frame/document.ts'
import { dollars } from '../../frame/texts.ts'
import { livePart } from '../console-page.ts'
import { reasonText } from '../ledger-words.ts'
import { declineText, describeCall } from './call-texts.ts'
import { type FiltersShown, filtersForm } from './filters-view.ts'
import type { EntryInTimeline, RunSeen } from './read-runs.ts'
import { separatorText } from './separators.ts'
import { clockText, kindWords, runName, stateOf, timelineAddress } from './words.ts'

interface TimelineShown extends FiltersShown {
  entries: readonly EntryInTimeline[]
  /** The address of the next page; null if this is the last page. */
  onward: string | null
  /**
   * The address from which the script requests newer entries; null if this page does not start with the newest entry.
   */
  newer: string | null
  /** The address of the first page in the same order; null if this is the first page. */
  first: string | null
  nowMs: number
}

/** Renders the timeline of a run with its figures and filters. */
export function timelineMain(state: TimelineShown): Html {
  const { run, newer, first, nowMs, isOldestFirst = false } = state
  const { id, instanceId } = run
  const address = timelineAddress(id)
  return html`<div class="line spread">
<div><p class="aside"><a href="/console">Runs</a></p>
<h1><bdi>${runName(instanceId)}</bdi></h1></div>
<p><a class="button quiet" href="${address}/report">Report</a></p>
</div>
${livePart(`run:${id}`, factsAddress(id), factsPart(run, nowMs))}
${filtersForm(state)}
${first === null ? '' : html`<p><a href="${first}">${isOldestFirst ? 'Oldest' : 'Newest'} entries</a></p>`}
<section data-list aria-label="Entries, ${isOldestFirst ? 'oldest' : 'newest'} first">
<div class="entries-head" aria-hidden="true"><span>Time (UTC)</span><span>Tool</span><span class="number">Dollars</span><span>Outcome</span><span class="number">Took</span></div>
<div role="list" class="entries box" data-entries${newer === null ? '' : html` data-live="run:${id}" data-newer="${newer}"`}>
${entriesOf(state)}
</div>
${onwardLink(state)}
</section>`
}

/** Returns the address of the live part with the run's figures. */
export const factsAddress = (runId: string) => `/console/runs/${runId}?part=facts`

/** Renders the live part with the run's agent, program and figures. */
export function factsPart({ agentName, host, calls, refused, firstAtMs, lastAtMs }: RunSeen, nowMs: number): Html {
  return html`<dl class="figures">
<div><dt>Agent</dt><dd><bdi>${agentName === null ? 'None (called by a user or with an API key)' : foreignName(agentName, 'An agent without a name')}</bdi></dd></div>
<div><dt>Program</dt><dd><bdi>${host === null ? 'Unknown' : foreignName(host, 'Unknown')}</bdi></dd></div>
<div><dt>Calls</dt><dd>${calls}${refused > 0 ? html`, <span class="problem">${refused} failed</span>` : ''}</dd></div>
<div><dt>From</dt><dd>${clockText(firstAtMs, nowMs)} UTC</dd></div>
<div><dt>To</dt><dd>${clockText(lastAtMs, nowMs)} UTC</dd></div>
</dl>`
}

/** Renders the entries that the script adds at the top or the bottom of the list. */
export function timelinePart(
  state: Pick<TimelineShown, 'run' | 'entries' | 'onward' | 'isOldestFirst' | 'nowMs'>,
): Html {
  return html`<div data-entries>${entriesOf(state)}</div>${onwardLink(state)}`
}

/** Renders a link to the new entries that the script did not add to the list because there are too many. */
export function gapPart(address: string, lastId: string): Html {
  return html`<p data-entry data-gap id="before-${lastId}"><a href="${address}">Show the entries in between</a></p>`
}

function entriesOf({ run, entries, onward, nowMs }: Pick<TimelineShown, 'run' | 'entries' | 'onward' | 'nowMs'>): Html {
  if (entries.length === 0)
    return html`<p data-empty>${onward === null ? 'No matching entries.' : 'No matches among these entries.'}</p>`
  return html`${entries.map((entry, at) => entryRow(run.id, entry, { between: separatorText(entries, at), nowMs }))}`
}

function onwardLink({ onward, isOldestFirst }: Pick<TimelineShown, 'onward' | 'isOldestFirst'>): Html {
  if (onward === null) return html``
  return html`<p><a href="${onward}" data-more>${isOldestFirst ? 'Newer' : 'Older'} entries</a></p>`
}

/**
 * Renders the row of an entry.
 * @param options.between The separator text to show below the entry; null if there is none.
 */
function entryRow(
  runId: string,
  entry: EntryInTimeline,
  { between, nowMs }: { between: string | null; nowMs: number },
): Html {
  const { id, operation, kind, code, amountCents, ms, atMs, fault, reads } = entry
  const address = `/console/runs/${runId}/entries/${id}`
  const { text, tone, mark } = stateOf(entry)
  const declined = declineText(entry)
  const isEffect = kind === 'happened' && fault === null
  const label = isEffect
    ? reasonText(operation)
    : html`<bdi>${describeCall(entry)}</bdi>${declined === null ? '' : `: declined, ${declined}`} <code>${operation}</code>`
  return html`<div role="listitem" class="entry ${kind}" id="${id}" data-entry data-reads="${reads.join(' ')}"><details id="open-${id}" data-source="${address}?fragment=1">
<summary><time datetime="${timestamp(atMs)}">${clockText(atMs, nowMs)}</time><span class="tool">${label}${kind === 'call' || kind === 'happened' ? '' : html` <span class="kind">${kindWords[kind]}</span>`}${fault === null ? '' : html` <span class="kind open">fault: ${fault}</span>`}${code === null || declined !== null ? '' : html` <span class="why">${code}</span>`}${reads.length === 0 ? '' : html` <span class="why">+${reads.length}&nbsp;${reads.length === 1 ? 'read' : 'reads'}</span>`}</span><span class="number amount">${amountCents === null ? '' : dollars(amountCents)}</span><span class="state ${tone}"><span aria-hidden="true">${mark}</span> ${text}</span><span class="number ms">${ms === null ? '' : `${ms} ms`}</span></summary>
<div data-opened></div>
<p class="unscripted"><a href="${address}">Open this entry</a></p>
</details>${between === null ? '' : html`<p class="between">${between}</p>`}</div>`
}
