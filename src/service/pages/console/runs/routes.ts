import type { Context, Hono } from 'hono'
import { catalogue } from '../../../../../tools/index.ts'
import type { Environment, OperationDefinition } from '../../../../core/operation.ts'
import type { SignedIn } from '../../../oauth/sign-in.ts'
import { type RunOutcome, runOutcomes } from '../../../rules/runs.ts'
import type { Show } from '../../frame/answers.ts'
import type { Html } from '../../frame/document.ts'
import { consoleHeaders } from '../../frame/headers.ts'
import { consolePage, partAnswer } from '../console-page.ts'
import type { Announcements } from '../live/streams.ts'
import { type ConsoleDependencies, type ConsolePath, noSuchRun, servePage, showNotFound } from '../serve-page.ts'
import { drawNewest, runsPerPage } from './draw-runs.ts'
import { entryMain, entryPart } from './entry-view.ts'
import { runsMain, runsTable } from './list-view.ts'
import { NewestEntries } from './newest-entries.ts'
import { createRunReads, type EntryFilter, type RunReads } from './read-runs.ts'
import { factsPart, timelineMain, timelinePart } from './timeline-view.ts'
import { type TimeProblems, timeRange } from './times.ts'
import { runName, runsAddress, timelineAddress } from './words.ts'

const entriesPerPage = 100

interface RunPages extends ConsoleDependencies {
  reads: RunReads
  newest: NewestEntries
}

/** Returns the sorted names of the tools that exist in the environment. */
const toolsIn = (environment: Environment) =>
  Object.values<OperationDefinition>(catalogue)
    .flatMap(({ name, environments }) => (environments.includes(environment) ? [name] : []))
    .sort()

/** Mounts the list of runs, the timeline of each run, and the page of each entry. */
export function mountRuns(app: Hono, dependencies: ConsoleDependencies, announcements: Announcements): void {
  const pages: RunPages = {
    ...dependencies,
    reads: createRunReads(dependencies),
    newest: new NewestEntries(announcements, dependencies.system),
  }
  const mountPage = (path: ConsolePath, show: Show<RunPages>) =>
    servePage(app, path, dependencies, (c, _, signedIn) => show(c, pages, signedIn))
  mountPage('/console', showRuns)
  mountPage('/console/runs/:runId', showRun)
  mountPage('/console/runs/:runId/entries/:entryId', showEntry)
}

const isFragment = (c: Context) => c.req.query('fragment') === '1'
const queryValue = (c: Context, name: string) => c.req.query(name) || undefined

const showRuns: Show<RunPages> = async (c, pages, signedIn) => {
  const { reads, environment } = pages
  const { partyId } = signedIn.user
  const isPart = isFragment(c)
  const { range, problems } = timeRange(queryValue(c, 'from'), queryValue(c, 'until'))
  const filter = { agent: queryValue(c, 'agent'), host: queryValue(c, 'host'), ...range }
  const scope = { partyId, agentId: filter.agent, host: filter.host, ...range }
  const before = queryValue(c, 'before')
  const { rows, lastId } = await reads.runs(scope, { limit: runsPerPage, beforeId: before ?? null })
  const state = {
    runs: rows,
    overTime: before === undefined ? await reads.overTime(scope) : undefined,
    choices: isPart ? { agents: [] } : await reads.choices(partyId),
    filter,
    problems,
    source: runsAddress({ ...filter, before, fragment: '1' }),
    older: lastId === null ? null : runsAddress({ ...filter, before: lastId }),
    nowMs: await reads.now(),
    sandbox: environment === 'sandbox',
  }
  if (isPart) return fragment(c, runsTable(state))
  return pageResponse(c, { title: 'Runs', main: runsMain(state), status: hasProblem(problems) ? 422 : 200 })
}

const hasProblem = (problems: TimeProblems) => Object.values(problems).some((problem) => problem !== undefined)

const showRun: Show<RunPages> = async (c, pages, signedIn) => {
  const { reads, environment } = pages
  const { partyId } = signedIn.user
  const runId = c.req.param('runId') ?? ''
  const { filter, problems } = filterIn(c)
  const scope = { partyId, runId, ...filter }
  if (c.req.query('newest') === '1') return showNewest(c, pages, signedIn, scope)
  const run = await reads.run(partyId, runId)
  if (run === undefined) return showNotFound(c, signedIn, noSuchRun)
  if (c.req.query('part') === 'facts') return partAnswer(c, factsPart(run, await reads.now()))
  const isOldestFirst = c.req.query('order') === 'oldest'
  const from = queryValue(c, isOldestFirst ? 'after' : 'before')
  const page = { limit: entriesPerPage, fromId: from ?? null, isOldestFirst }
  const { rows, lastId } = await reads.entries(scope, page)
  const order = isOldestFirst ? ('oldest' as const) : undefined
  const onward =
    lastId === null
      ? null
      : timelineAddress(runId, { ...filter, order, ...(isOldestFirst ? { after: lastId } : { before: lastId }) })
  const state = { run, entries: rows, isOldestFirst, onward, nowMs: await reads.now() }
  if (isFragment(c)) return fragment(c, timelinePart(state))
  const isNewest = from === undefined && !isOldestFirst
  const newer = isNewest ? timelineAddress(runId, { ...filter, fragment: '1' }) : null
  const main = timelineMain({
    ...state,
    newer,
    first: from === undefined ? null : timelineAddress(runId, { ...filter, order }),
    filter,
    problems,
    tools: toolsIn(environment),
    choices: await reads.choices(partyId),
  })
  const status = hasProblem(problems) ? 422 : 200
  return pageResponse(c, { title: runName(run.instanceId), main, status })
}

/**
 * Responds with the newest entries. At the top of the list, the script adds the entries that are not on the page yet.
 */
async function showNewest(
  c: Context,
  pages: RunPages,
  signedIn: SignedIn,
  scope: Parameters<RunReads['entries']>[0],
): Promise<Response> {
  const { reads, newest } = pages
  const fragment = await newest.get(scope, () => drawNewest(reads, scope))
  if (fragment === undefined) return showNotFound(c, signedIn, noSuchRun)
  return c.html(fragment, 200, consoleHeaders)
}

const showEntry: Show<RunPages> = async (c, pages, signedIn) => {
  const { reads, publicUrl, environment } = pages
  const { partyId } = signedIn.user
  const entry = await reads.entry(partyId, c.req.param('entryId') ?? '')
  if (entry === undefined || entry.runId !== c.req.param('runId')) return showNotFound(c, signedIn, noSuchRun)
  const { orderId } = entry.detail
  const order = orderId === undefined ? undefined : await reads.order(partyId, orderId)
  const { operation, outcome, status, detail } = entry
  const isToolCall = detail.isToolCall === true && pages.toolResultOf !== undefined
  const shown =
    isToolCall && detail.answer !== undefined && status !== null
      ? pages.toolResultOf?.({ environment, operation, outcome, status, answer: detail.answer })
      : undefined
  const nowMs = await reads.now()
  const state = { entry, publicUrl: publicUrl(), nowMs, shopId: order?.shopId ?? null, isToolCall, toolResult: shown }
  if (isFragment(c)) return fragment(c, entryPart(state, true))
  return pageResponse(c, { title: entry.operation, main: entryMain(state) })
}

function filterIn(c: Context): { filter: EntryFilter; problems: TimeProblems } {
  const outcome = runOutcomes.find((one: RunOutcome) => one === c.req.query('outcome'))
  const { range, problems } = timeRange(queryValue(c, 'from'), queryValue(c, 'until'))
  return { filter: { operation: queryValue(c, 'tool'), outcome, agentId: queryValue(c, 'agent'), ...range }, problems }
}

/** Responds with a part of a page, which the script inserts. */
function fragment(c: Context, part: Html) {
  return c.html(part, 200, consoleHeaders)
}

interface Page {
  title: string
  main: Html
  status?: 200 | 422
}

function pageResponse(c: Context, { title, main, status = 200 }: Page) {
  return c.html(consolePage({ title, main }), status, consoleHeaders)
}
