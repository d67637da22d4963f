import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { timestamp } from '../../../../core/system.ts'
import { type Column, table } from '../../../../display/table.ts'
import type { Html } from '../../frame/document.ts'
import { livePart } from '../console-page.ts'
import type { Choices, RunSeen } from './read-runs.ts'
import { clockText, runName } from './words.ts'

interface RunsShown {
  runs: readonly RunSeen[]
  choices: Choices
  filter: { agent?: string | undefined; host?: string | undefined }
  /** The address of the live part. */
  source: string
  /** The address of the older runs; null if there are none. */
  older: string | null
  nowMs: number
  /** The search term that found nothing. */
  missed: string | null
  sandbox: boolean
}

/** Renders the list of runs with its filters. */
export function runsMain(shown: RunsShown): Html {
  const { choices, filter, source, missed } = shown
  return html`<div class="line spread">
<h1>Runs</h1>
<form method="get" action="/console/find" role="search" class="find">
<label for="find">Find a request or a run</label>
<input id="find" name="id" required maxlength="1024" placeholder="req_… or an instance id" spellcheck="false" autocomplete="off">
<button type="submit" class="quiet">Find</button>
</form>
</div>
${missed === null ? '' : html`<p class="problem" role="alert">Nothing was found for <bdi>${foreignName(missed, 'this id')}</bdi>. Check the id. Runs are kept for 30 days, and in the sandbox until a reset.</p>`}
<form method="get" action="/console" class="filters">
<label>Agent <select name="agent"><option value="">All agents</option>${choices.agents.map(
    ({ id, name }) =>
      html`<option value="${id}"${id === filter.agent ? html` selected` : ''}>${foreignName(name, id)}</option>`,
  )}</select></label>
<label>Program <input name="host" value="${filter.host ?? ''}" maxlength="80" placeholder="such as Claude Code 2.1" autocomplete="off"></label>
<button type="submit" class="quiet">Filter</button>
${filter.agent === undefined && filter.host === undefined ? '' : html`<a href="/console">Clear filters</a>`}
</form>
${livePart('runs', source, runsTable(shown))}`
}

/** Renders the runs, a live part. */
export function runsTable({ runs, filter, older, nowMs, sandbox }: RunsShown): Html {
  if (runs.length === 0) {
    return filter.agent === undefined && filter.host === undefined
      ? nothingYet(sandbox)
      : html`<p>No runs match these filters. <a href="/console">Clear filters</a></p>`
  }
  return html`<div class="box">${table('Runs, most recently active first', columnsAt(nowMs), runs, ({ id }) => `row-${id}`)}</div>
${older === null ? '' : html`<p><a href="${older}">Older runs</a></p>`}`
}

const columnsAt = (nowMs: number): readonly [Column<RunSeen>, ...Column<RunSeen>[]] => [
  {
    name: 'Run',
    of: ({ id, instanceId }) =>
      html`<a id="link-${id}" href="/console/runs/${id}"><bdi>${runName(instanceId)}</bdi></a>`,
  },
  {
    name: 'Agent',
    of: ({ agentName }) =>
      html`<bdi>${agentName === null ? 'No agent' : foreignName(agentName, 'An agent without a name')}</bdi>`,
  },
  { name: 'Program', of: ({ host }) => html`<bdi>${host === null ? '–' : foreignName(host, '–')}</bdi>` },
  { name: 'Calls', isNumber: true, of: ({ calls }) => String(calls) },
  {
    name: 'Failed',
    isNumber: true,
    of: ({ refused }) => (refused > 0 ? html`<span class="problem">${refused}</span>` : '0'),
  },
  {
    name: 'Last',
    of: ({ firstAtMs, lastAtMs }) =>
      html`<time datetime="${timestamp(lastAtMs)}" title="Since ${clockText(firstAtMs, nowMs)} UTC">${clockText(lastAtMs, nowMs)}</time>`,
  },
]

function nothingYet(sandbox: boolean): Html {
  return html`<div class="box stack"><h2>No runs yet</h2>
<p>Your agents’ calls appear here as they happen. ${sandbox ? 'To see a first run, connect an AI host as the home page describes and ask it to buy something, or start simulated agents in a terminal:' : 'Connect an AI host as the home page describes.'}</p>
${sandbox ? html`<pre><code>npm run simulate -- --agents 2 --purchases 5</code></pre>` : ''}
<p><a href="/">How to connect an AI host</a></p></div>`
}
