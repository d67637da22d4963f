import { expect } from 'vitest'
import { runIdOf } from '../../src/service/request/run-log.ts'
import type { RunDetail } from '../../src/service/rules/runs.ts'
import { findRun, listRuns, runEntriesAfter } from '../../src/service/store/runs.ts'
import type { RunEntryRow, RunRow } from '../../src/service/store/schema/runs.ts'
import type { World } from '../support/world.ts'

/** A stored entry with its `detail` parsed from JSON. */
export interface StoredEntry extends Omit<RunEntryRow, 'detail'> {
  detail: RunDetail
}

const firstPage = { beforeId: null, limit: 1000 }

/** Stores all pending entries, and returns the entries of a run, oldest first. */
export async function entriesOf(
  world: World,
  instanceId: string | null = 'run 1',
  partyId?: string,
): Promise<StoredEntry[]> {
  await world.service.runLog.flush()
  const owner = partyId ?? (await partyOf(world))
  const scope = { partyId: owner, runId: runIdOf(owner, instanceId) }
  const rows = await world.store.read((tx) => runEntriesAfter(tx, scope, { afterId: '', limit: firstPage.limit }))
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as RunDetail }))
}

export async function lastEntryOf(world: World, instanceId?: string | null): Promise<StoredEntry> {
  const last = (await entriesOf(world, instanceId)).at(-1)
  if (last === undefined) throw new Error('The run has no entries.')
  return last
}

export async function runOf(world: World, instanceId: string | null): Promise<RunRow> {
  await world.service.runLog.flush()
  const partyId = await partyOf(world)
  const run = await world.store.read((tx) => findRun(tx, partyId, runIdOf(partyId, instanceId)))
  expect(run).toBeDefined()
  return run as RunRow
}

export async function runsOf(world: World, partyId?: string): Promise<readonly RunRow[]> {
  await world.service.runLog.flush()
  const owner = partyId ?? (await partyOf(world))
  return (await world.store.read((tx) => listRuns(tx, { partyId: owner }, firstPage))).rows
}

/** Returns the id of the seeded agent's party. Calls the API in another run, so the tested run gets no extra entry. */
async function partyOf(world: World): Promise<string> {
  return (await world.get('/whoami', { instanceId: 'the test asks' })).json.data.attributes.partyId
}
