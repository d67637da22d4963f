import { html } from 'hono/html'
import type { EntryScope } from '../../../store/runs.ts'
import type { Draw } from '../live/streams.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { runsTable } from './list-view.ts'
import { createRunReads, type RunReads } from './read-runs.ts'
import { factsAddress, factsPart, gapPart, timelinePart } from './timeline-view.ts'
import { timelineAddress } from './words.ts'

export const runsPerPage = 50
/** The maximum number of new entries that one update adds to the top of a timeline. A link leads to the others. */
const maxNewEntries = 30

/** Renders the newest entries of a run; undefined if the party has no such run. */
export async function drawNewest(reads: RunReads, scope: EntryScope): Promise<string | undefined> {
  const run = await reads.run(scope.partyId, scope.runId)
  if (run === undefined) return undefined
  const { rows, lastId, isFull } = await reads.entries(scope, { limit: maxNewEntries, fromId: null })
  const entries = timelinePart({ run, entries: rows, onward: null, nowMs: await reads.now() })
  const isAll = lastId === null || !isFull
  const part = isAll
    ? entries
    : html`${entries}${gapPart(timelineAddress(scope.runId, { ...scope, before: lastId }), lastId)}`
  return String(await part)
}

/**
 * Creates the function that redraws the parts of run pages after a change, for pages without a filter. If a page has a
 * filter, the page's script requests the new content instead.
 */
export function createRunDraw(pages: ConsoleDependencies): Draw {
  const reads = createRunReads(pages)
  return async ({ user: { partyId } }, topic) => {
    if (topic === 'runs') return [{ source: '/console?fragment=1', html: await drawRuns(pages, reads, partyId) }]
    const [kind, runId] = topic.split(':')
    if (kind !== 'run' || runId === undefined) return []
    const run = await reads.run(partyId, runId)
    const newest = await drawNewest(reads, { partyId, runId })
    if (run === undefined || newest === undefined) return []
    return [
      { source: `/console/runs/${runId}?fragment=1`, html: newest },
      { source: factsAddress(runId), html: String(await factsPart(run, await reads.now())) },
    ]
  }
}

async function drawRuns(pages: ConsoleDependencies, reads: RunReads, partyId: string): Promise<string> {
  const { rows, lastId } = await reads.runs({ partyId }, { limit: runsPerPage, beforeId: null })
  const table = runsTable({
    runs: rows,
    overTime: await reads.overTime({ partyId }),
    problems: {},
    choices: { agents: [] },
    filter: {},
    source: '',
    older: lastId === null ? null : `/console?${new URLSearchParams({ before: lastId })}`,
    nowMs: await reads.now(),
    sandbox: pages.environment === 'sandbox',
  })
  return String(await table)
}
