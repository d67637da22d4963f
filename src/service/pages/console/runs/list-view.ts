import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { timestamp } from '../../../../core/system.ts'
import { type Column, table } from '../../../../display/table.ts'
import { elapsed } from '../../../../display/times.ts'
import type { Html } from '../../frame/document.ts'
import { dollars } from '../../frame/texts.ts'
import { livePart } from '../console-page.ts'
import { failureText } from './call-texts.ts'
import { runsChart } from './chart-view.ts'
import { timeFields } from './filters-view.ts'
import type { Choices, RunListed, RunsOverTime } from './read-runs.ts'
import type { TimeProblems } from './times.ts'
import { agoText, clockText, runName } from './words.ts'

/** The filter of the list of runs. */
export interface RunsFilter {
  agent?: string | undefined
  host?: string | undefined
  fromMs?: number | undefined
  untilMs?: number | undefined
}

interface RunsShown {
  runs: readonly RunListed[]
  /** The totals over time; undefined if there are no entries yet, or on a page of older runs. */
  overTime: RunsOverTime | undefined
  choices: Choices
  filter: RunsFilter
  /** The messages about invalid times in the filter. */
  problems: TimeProblems
  /** The address from which the live part is refreshed. */
  source: string
  /** The address of the page with older runs; null if there are none. */
  older: string | null
  nowMs: number
  sandbox: boolean
}

/** Returns whether the filter has any value. */
const isNarrowed = (filter: RunsFilter) => Object.values(filter).some((value) => value !== undefined)

/** Renders the list of runs with its filters. */
export function runsMain(state: RunsShown): Html {
  const { choices, filter, problems, source } = state
  const narrowed = isNarrowed({ ...filter, ...problems } as RunsFilter)
  const hasProblem = Object.values(problems).some((problem) => problem !== undefined)
  return html`<div class="line spread">
<h1>Runs</h1>
<form method="get" action="/console/find" role="search" class="find">
<label for="find">Find</label>
<input id="find" name="id" required maxlength="1024" placeholder="Any id or text" spellcheck="false" autocomplete="off">
<button type="submit" class="quiet">Find</button>
</form>
</div>
<details class="narrowing"${hasProblem ? html` open` : ''}>
<summary>Filters${narrowed ? ', in use' : ''}</summary>
<form method="get" action="/console" class="filters">
<label>Agent <select name="agent"><option value="">All agents</option>${choices.agents.map(
    ({ id, name }) =>
      html`<option value="${id}"${id === filter.agent ? html` selected` : ''}>${foreignName(name, id)}</option>`,
  )}</select></label>
<label>Program <input name="host" value="${filter.host ?? ''}" maxlength="80" placeholder="such as Cursor 2.1" autocomplete="off"></label>
${timeFields(filter, problems)}
<button type="submit" class="quiet">Filter</button>
${narrowed ? html`<a href="/console">Clear filters</a>` : ''}
</form>
</details>
${livePart('runs', source, runsTable(state))}`
}

/** Renders the live part with the runs. */
export function runsTable({ runs, overTime, filter, older, nowMs, sandbox }: RunsShown): Html {
  if (runs.length === 0) {
    return isNarrowed(filter)
      ? html`<p>No runs match these filters. <a href="/console">Clear filters</a></p>`
      : nothingYet(sandbox)
  }
  return html`${overTime === undefined ? '' : runsChart(overTime, nowMs)}
<div class="box">${table('Runs, most recently active first', columnsAt(nowMs), runs, ({ id }) => `row-${id}`)}</div>
${older === null ? '' : html`<p><a href="${older}">Older runs</a></p>`}`
}

const columnsAt = (nowMs: number): readonly [Column<RunListed>, ...Column<RunListed>[]] => [
  {
    name: 'Run',
    cell: ({ id, instanceId }) =>
      html`<a id="link-${id}" href="/console/runs/${id}"><bdi>${runName(instanceId)}</bdi></a>`,
  },
  {
    name: 'Agent',
    cell: ({ agentName, host }) =>
      html`<bdi>${agentName === null ? 'No agent' : foreignName(agentName, 'An agent without a name')}</bdi>${host === null ? '' : html`<br><bdi class="aside">${foreignName(host, '–')}</bdi>`}`,
  },
  { name: 'Calls', isNumber: true, cell: ({ calls }) => String(calls) },
  { name: 'Spent', isNumber: true, cell: ({ spentCents }) => (spentCents === 0 ? '–' : dollars(spentCents)) },
  { name: 'Duration', isNumber: true, cell: ({ firstAtMs, lastAtMs }) => elapsed(lastAtMs - firstAtMs) },
  {
    name: 'Last',
    cell: ({ lastAtMs }) =>
      html`<time datetime="${timestamp(lastAtMs)}" title="${clockText(lastAtMs, nowMs)} UTC">${agoText(nowMs - lastAtMs)}</time>`,
  },
  { name: 'What went wrong', cell: (run) => problemText(run) },
]

function problemText({ id, refused, problem }: RunListed): Html {
  if (refused === 0) return html`<span class="aside">Nothing</span>`
  const last =
    problem === undefined
      ? html``
      : html`<a class="wrong" href="/console/runs/${id}/entries/${problem.id}"><bdi>${failureText(problem)}</bdi></a>`
  return html`<span class="problem">${refused} failed</span>${problem === undefined ? '' : html`<br>${last}`}`
}

function nothingYet(sandbox: boolean): Html {
  return html`<div class="box stack"><h2>No runs yet</h2>
<p>Your agents’ calls appear here as they happen. ${sandbox ? 'To see a first run, connect an AI host as the home page describes and ask it to buy something, or start simulated agents in a terminal:' : 'Connect an AI host as the home page describes.'}</p>
${sandbox ? html`<pre><code>npm run simulate -- --agents 2 --purchases 5</code></pre>` : ''}
<p><a href="/">How to connect an AI host</a></p></div>`
}
