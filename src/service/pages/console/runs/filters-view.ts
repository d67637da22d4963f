import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import { runOutcomes } from '../../../rules/runs.ts'
import type { Html } from '../../frame/document.ts'
import type { Choices, EntryFilter, RunSeen } from './read-runs.ts'
import type { TimeProblems, TimeRange } from './times.ts'
import { outcomeWords, timeFieldValue, timelineAddress } from './words.ts'

export interface FiltersShown {
  run: RunSeen
  choices: Choices
  tools: readonly string[]
  filter: EntryFilter
  /** The messages about invalid times in the filter. */
  problems: TimeProblems
  isOldestFirst?: boolean
}

/** Renders the filters of a timeline. */
export function filtersForm({ run, choices, tools, filter, problems, isOldestFirst = false }: FiltersShown): Html {
  const address = timelineAddress(run.id)
  const isNarrowed = Object.values({ ...filter, ...problems }).some((value) => value !== undefined)
  const hasProblem = Object.values(problems).some((problem) => problem !== undefined)
  return html`<details class="narrowing"${hasProblem ? html` open` : ''}>
<summary>Filters${isNarrowed ? ', in use' : ''}</summary>
<form method="get" action="${address}" class="filters">
<label>Agent <select name="agent"><option value="">All</option>${choices.agents.map((agent) =>
    option(agent.id, foreignName(agent.name, agent.id), agent.id === filter.agentId),
  )}</select></label>
<label>Tool <input name="tool" list="tools" value="${filter.operation ?? ''}" maxlength="80" placeholder="All" autocomplete="off" spellcheck="false"></label>
<datalist id="tools">${tools.map((tool) => html`<option value="${tool}"></option>`)}</datalist>
<label>Outcome <select name="outcome"><option value="">All</option>${runOutcomes.map((outcome) =>
    option(outcome, outcomeWords[outcome].text, outcome === filter.outcome),
  )}</select></label>
<label>Order <select name="order"><option value="">Newest first</option>${option('oldest', 'Oldest first', isOldestFirst)}</select></label>
${timeFields(filter, problems)}
<button type="submit" class="quiet">Show</button>
${isNarrowed ? html`<a href="${address}">Clear filters</a>` : ''}
</form>
</details>`
}

/** Renders the two fields for the start and end of a time range. */
export function timeFields({ fromMs, untilMs }: TimeRange['range'], problems: TimeProblems): Html {
  return html`<div class="line">${timeField({ name: 'from', label: 'From (UTC)', ms: fromMs, problem: problems.from })}
${timeField({ name: 'until', label: 'Until (UTC)', ms: untilMs, problem: problems.until })}</div>`
}

function option(value: string, text: string, isChosen: boolean): Html {
  return html`<option value="${value}"${isChosen ? html` selected` : ''}>${text}</option>`
}

interface TimeField {
  name: keyof TimeProblems
  label: string
  ms: number | undefined
  problem: string | undefined
}

function timeField({ name, label, ms, problem }: TimeField): Html {
  const state = problem === undefined ? '' : html` aria-invalid="true" aria-describedby="${name}-problem"`
  return html`<div><label>${label} <input type="datetime-local" step="1" name="${name}" value="${timeFieldValue(ms) ?? ''}"${state}></label>
${problem === undefined ? '' : html`<p class="problem" id="${name}-problem"><bdi>${problem}</bdi></p>`}</div>`
}
