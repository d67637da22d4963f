import { html } from 'hono/html'
import { type ErrorCode, errorTable } from '../../../../core/errors.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import { timestamp } from '../../../../core/system.ts'
import type { RunDetail, RunPosting, ToolResultOf } from '../../../rules/runs.ts'
import { curlOf } from '../../frame/curl.ts'
import type { Html } from '../../frame/document.ts'
import { idLink, withLinkedIds } from '../../frame/ids.ts'
import { dollars, escaped } from '../../frame/texts.ts'
import { accountText, reasonText } from '../ledger-words.ts'
import { describeCall } from './call-texts.ts'
import type { EntryOpened } from './read-runs.ts'
import { clockText, kindWords, readableJson, runName, sentence, stateOf } from './words.ts'

/** The maximum number of record ids shown at the top of an entry. */
const maxRecords = 5

interface EntryShown {
  entry: EntryOpened
  publicUrl: string
  nowMs: number
  /** The id of the shop of the entry's order; null if the entry has no order or the order was not found. */
  shopId: string | null
  /** Whether to show the section with the result that the model saw. Only tool calls have this section. */
  isToolCall: boolean
  /** The tool result that the host received; undefined if it is unknown. */
  toolResult: ReturnType<ToolResultOf>
}

/** Renders the content of an entry's page. */
export function entryMain(state: EntryShown): Html {
  const { run, operation, kind, older, newer } = state.entry
  const at = `/console/runs/${run.id}`
  return html`<p class="aside"><a href="/console">Runs</a> › <a href="${at}"><bdi>${runName(run.instanceId)}</bdi></a></p>
<h1>${kind === 'happened' ? reasonText(operation) : html`<bdi>${describeCall(state.entry)}</bdi> <code>${operation}</code>`}</h1>
${entryPart(state, false)}
<nav aria-label="Adjacent entries" class="line spread">
${newer === null ? html`<span></span>` : html`<a href="${at}/entries/${newer}" rel="next">Next entry</a>`}
${older === null ? '' : html`<a href="${at}/entries/${older}" rel="prev">Previous entry</a>`}
</nav>`
}

/** Renders the details of an entry. @param isInTimeline Whether the entry is shown within its timeline. */
export function entryPart(state: EntryShown, isInTimeline: boolean): Html {
  const { entry, nowMs } = state
  const { id, run, kind, status, code, amountCents, ms, atMs, supportId, detail, agentName } = entry
  const { text, tone, mark } = stateOf(entry)
  const address = `/console/runs/${run.id}/entries/${id}`
  return html`<div class="opened stack${isInTimeline ? '' : ' box'}">
<dl class="figures">
<div><dt>${kindWords[kind]}</dt><dd><span class="state ${tone}"><span aria-hidden="true">${mark}</span> ${text}</span>${status === null ? '' : ` (HTTP ${status})`}</dd></div>
${amountCents === null ? '' : html`<div><dt>Amount</dt><dd>${dollars(amountCents)}</dd></div>`}
<div><dt>When</dt><dd><time datetime="${timestamp(atMs)}">${clockText(atMs, nowMs)} UTC</time>${ms === null ? '' : `, took ${ms} ms`}</dd></div>
${kind === 'decision' ? '' : html`<div><dt>By</dt><dd><bdi>${byText(agentName, detail)}</bdi></dd></div>`}
${supportId === null ? '' : html`<div><dt>Support id</dt><dd><code id="support-${id}">${supportId}</code> ${copyButton(`support-${id}`, 'the support id')}</dd></div>`}
${detail.customerPartyId == null ? '' : html`<div><dt>For the customer</dt><dd>${idLink(detail.customerPartyId)}</dd></div>`}
${recordsFact(detail)}
${isInTimeline ? html`<div><dt>Link</dt><dd><a href="${address}">Link to this entry</a></dd></div>` : ''}
</dl>
${code === null ? '' : errorPart(code, entry)}
${repeatPart(entry)}
${faultPart(detail)}
${factsPart(detail)}
${orderPart(detail, state.shopId)}
${postingsPart(entry)}
${readsPart(entry, nowMs)}
${jsonPart('Request', requestLine(detail), detail.body, detail.bodyCut)}
<div class="compared">${jsonPart('Answer', null, detail.answer, detail.cut)}${toolResultPart(state)}</div>
${kind === 'call' && detail.path !== undefined ? curlPart(state) : ''}
</div>`
}

const byText = (agentName: string | null, { actorType }: RunDetail) =>
  agentName === null
    ? actorType === 'user'
      ? 'A user'
      : 'An API key'
    : foreignName(agentName, 'An agent without a name')

/** Renders the ids of the entry's records as links to their pages. */
function recordsFact({ resourceIds = [] }: RunDetail): Html {
  if (resourceIds.length === 0) return html``
  const idParts = resourceIds.slice(0, maxRecords).map((id) => html` ${idLink(id)}`)
  const more = resourceIds.length - maxRecords
  return html`<div><dt>Records</dt><dd>${idParts}${more > 0 ? ` and ${more} more` : ''}</dd></div>`
}

function copyButton(id: string, content: string): Html {
  return html`<button type="button" class="quiet small scripted" data-copies="${id}">Copy<span class="unseen"> ${content}</span></button><span role="status" class="said"></span>`
}

function errorPart(code: string, { outcome, detail: { answer } }: EntryOpened): Html {
  const title = outcome === 'declined' ? 'Declined' : 'Error'
  const errorKind = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode] : undefined
  return html`<section aria-label="${title}"><h2>${title} <code>${code}</code></h2>${detailIn(answer)}${errorKind === undefined ? '' : html`<p>${errorKind.next}</p>`}</section>`
}

/** Renders the `detail` field of an error response. */
function detailIn(answer = ''): Html {
  const [, text] = /"detail":("(?:[^"\\]|\\.)*")/.exec(answer) ?? []
  return text === undefined ? html`` : html`<p><bdi>${withLinkedIds(sentence(JSON.parse(text) as string))}</bdi></p>`
}

function repeatPart({ outcome, repeated, detail }: EntryOpened): Html {
  if (outcome !== 'replayed' && outcome !== 'repeated') return html``
  const first =
    repeated === null
      ? html`the first call, whose entry is not available${detail.repeats === undefined ? '' : html` (${idLink(detail.repeats)})`}`
      : html`<a href="/console/runs/${repeated.runId}/entries/${repeated.id}">the first call</a>`
  return html`<p class="note">${outcome === 'repeated' ? 'An identical call was made shortly before. ' : 'This Idempotency-Key was used before. '}Nothing was done twice: the caller got the recorded answer of ${first}.</p>`
}

/**
 * Renders the reads that the MCP server made for this tool call. If this entry is itself such a read, renders a link to
 * the tool call instead.
 */
function readsPart({ run, reads, madeFor }: EntryOpened, nowMs: number): Html {
  const address = (id: string) => `/console/runs/${run.id}/entries/${id}`
  if (madeFor !== null)
    return html`<p class="note">The MCP server made this read for <a href="${address(madeFor)}">a tool call</a>.</p>`
  if (reads.length === 0) return html``
  return html`<section aria-label="Reads for this call"><h2>Reads for this call</h2><ul>${reads.map(
    ({ id, operation, atMs, ms }) =>
      html`<li><a href="${address(id)}">${operation}</a> <span class="aside">${clockText(atMs, nowMs)} UTC${ms === null ? '' : `, took ${ms} ms`}</span></li>`,
  )}</ul><p class="aside">The MCP server made these reads before or after the call. They count as calls of the run.</p></section>`
}

function faultPart({ fault }: RunDetail): Html {
  if (fault === undefined) return html``
  const { kind, code, afterMs, ruleId } = fault
  return html`<p class="note">The sandbox injected a fault: <strong>${kind}</strong>${code === undefined ? '' : html`, <code>${code}</code>`}${afterMs === undefined ? '' : ` after ${afterMs} ms`}, rule <code>${ruleId}</code>. <a href="/console/sandbox">Faults</a></p>`
}

function factsPart({ facts = [], remark }: RunDetail): Html {
  if (facts.length === 0 && remark === undefined) return html``
  return html`<section aria-label="Details">${facts.length === 0 ? '' : html`<ul>${facts.map((fact) => html`<li><bdi>${withLinkedIds(sentence(fact))}</bdi></li>`)}</ul>`}
${remark === undefined ? '' : html`<p><bdi>${withLinkedIds(sentence(remark))}</bdi></p>`}</section>`
}

function orderPart({ orderId }: RunDetail, shopId: string | null): Html {
  if (orderId === undefined) return html``
  return html`<p class="note">Order ${idLink(orderId)}${shopId === null ? '' : html` at <a href="/shops/${shopId}">${shopId}</a>`}.</p>`
}

function postingsPart({ detail, wallets }: EntryOpened): Html {
  const { postings = [] } = detail
  if (postings.length === 0) return html``
  return html`<section aria-label="Ledger postings"><h2>Ledger</h2><table class="postings">
<thead><tr><th scope="col">Posting</th><th scope="col">Account</th><th scope="col" class="number">Amount</th></tr></thead>
<tbody>${postings.map((posting) => postingRows(posting, wallets))}</tbody>
<tfoot><tr><th scope="row" colspan="2">Sum</th><td class="number">${dollars(sumOf(postings))}</td></tr></tfoot></table></section>`
}

const sumOf = (postings: readonly RunPosting[]) =>
  postings.flatMap(({ entries }) => entries).reduce((sum, { amountCents }) => sum + amountCents, 0)

function postingRows({ reason, entries }: RunPosting, wallets: ReadonlyMap<string, string>): Html {
  return html`${entries.map(
    ({ account, walletId, amountCents }, at) =>
      html`<tr><td>${at === 0 ? reasonText(reason) : ''}</td><td>${walletId === null ? accountText(account) : walletAccount(walletId, account, wallets)}</td><td class="number">${dollars(amountCents)}</td></tr>`,
  )}`
}

/**
 * Renders the wallet and account of a ledger entry. A wallet of another party gets no link, because the console has no
 * page for such a wallet.
 */
function walletAccount(walletId: string, account: string, wallets: ReadonlyMap<string, string>): Html {
  const name = wallets.get(walletId)
  if (name === undefined) return html`Another party's wallet, ${accountText(account)}`
  return html`<a href="/console/money/wallets/${walletId}"><bdi>${foreignName(name, 'A wallet without a name')}</bdi></a>, ${accountText(account)}`
}

const requestLine = ({ method, path }: RunDetail) => (path === undefined ? null : `${method} ${path}`)

function jsonPart(name: string, line: string | null, text: string | undefined, cut = 0): Html {
  if (line === null && (text === undefined || text === '')) return html``
  return html`<section aria-label="${name}"><h2>${name}</h2>${line === null ? '' : html`<p><code>${withLinkedIds(line)}</code></p>`}${
    text === undefined || text === ''
      ? ''
      : html`<pre tabindex="0" aria-label="${name}, JSON"><code>${withLinkedIds(readableJson(text))}</code></pre>`
  }${cut > 0 ? html`<p class="aside">${cut} more characters were cut off.</p>` : ''}</section>`
}

/** Renders the result of the tool call as the model saw it. It may differ from the API's response. */
function toolResultPart({ isToolCall, toolResult }: EntryShown): Html {
  if (!isToolCall) return html``
  if (toolResult === undefined)
    return html`<section aria-label="What the model saw"><h2>What the model saw</h2><p class="aside">Unknown: the recorded answer was cut off or belongs to a repeat, or the model saw only part of it.</p></section>`
  const { text, structuredContent, next } = toolResult
  return html`<section aria-label="What the model saw"><h2>What the model saw</h2>
<pre class="wrapped" tabindex="0" aria-label="The text of the result"><code>${withLinkedIds(escaped(text))}</code></pre>
${next === null ? '' : html`<p><strong>Next step:</strong> <bdi>${sentence(next)}</bdi></p>`}
${structuredContent === null ? '' : html`<details open><summary>Structured content</summary><pre tabindex="0" aria-label="Structured content, JSON"><code>${withLinkedIds(readableJson(structuredContent))}</code></pre></details>`}
<p class="aside">Derived from the masked answer, on the assumption that the connection offers all tools. Remarks that the MCP server added, such as those on a low balance or ignored arguments, are not recorded.</p></section>`
}

function curlPart({ entry, publicUrl }: EntryShown): Html {
  const id = `curl-${entry.id}`
  const { hasKey = false } = entry.detail
  return html`<details><summary>As curl</summary>
<pre tabindex="0" aria-label="The request as a shell command"><code id="${id}">${curlOf(entry.detail, { publicUrl, instanceId: entry.run.instanceId })}</code></pre>
<p>${copyButton(id, 'the command')}</p>
<p class="aside">Set <code>PAYMENTS_KEY</code> to your key first.${hasKey ? ' The command uses a new Idempotency-Key, so it repeats the action. The old key would return the recorded answer.' : ''} Replace masked values with your own.</p>
</details>`
}
