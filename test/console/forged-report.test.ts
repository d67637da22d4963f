import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MadeReport, reportFile } from '../../src/service/pages/console/report/report-file.ts'
import { makeReport } from '../../src/service/pages/console/report/report-page.ts'
import { verifyReport } from '../../src/service/pages/console/report/verify-report.ts'
import { hashOf } from '../../src/service/request/activity.ts'
import type { RunReport } from '../../src/service/rules/run-report.ts'
import { activityAfter } from '../../src/service/store/activity.ts'
import { newestRuns } from '../../src/service/store/runs.ts'
import type { ActivityRow } from '../../src/service/store/schema/activity.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
let signedReport: MadeReport
let rows: ActivityRow[]

beforeAll(async () => {
  world = await createWorld(sqlite)
  for (let count = 0; count < 5; count++) await world.issueCard()
  await world.service.runLog.flush()
  const [run] = await world.store.read((tx) => newestRuns(tx, 1))
  if (run === undefined) throw new Error('There is no run.')
  signedReport = await makeReport(world.store, run, { environment: 'sandbox', purpose: 'page' })
  const { first } = signedReport.report.chain
  rows = await world.store.read((tx) => activityAfter(tx, run.partyId, (first?.sequence ?? 0) - 1, 5))
})
afterAll(() => world.drop())

/** Returns the rows with new hashes, so that they form a valid chain. */
function linkRows(changed: readonly ActivityRow[]): ActivityRow[] {
  let previousHash = changed[0]?.previousHash ?? ''
  return changed.map((row) => {
    const { hash: _, ...rest } = { ...row, previousHash }
    previousHash = hashOf(rest)
    return { ...rest, hash: previousHash }
  })
}

const rehash = ({ hash: _, ...rest }: ActivityRow): ActivityRow => ({ ...rest, hash: hashOf(rest) })
const place = (row: ActivityRow | undefined) => (row === undefined ? null : { sequence: row.sequence, hash: row.hash })

/** Creates a report file from forged rows and verifies it. The hashes of the report and of its figures are correct. */
async function verifyForgery(forged: readonly ActivityRow[], change: Partial<RunReport['chain']> = {}) {
  const chain = { rows: forged.length, first: place(forged[0]), last: place(forged.at(-1)), ...change }
  const report = { ...signedReport.report, chain }
  async function* batches() {
    if (forged.length > 0) yield forged
  }
  let text = ''
  for await (const part of reportFile({ ...signedReport, report }, 'json', batches())) text += part
  async function* lines() {
    yield* text.split('\n')
  }
  return verifyReport(lines())
}

test("a forged report passes verification only if its entries form a valid chain that matches the report's figures", async () => {
  expect(await verifyForgery(rows)).toMatchObject({ result: 'verified', entries: 5 })
  expect(await verifyForgery(linkRows(rows.with(1, { ...rows[1], status: 500 } as ActivityRow)))).toMatchObject({
    result: 'verified',
  })
  const changed = rehash({ ...rows[2], status: 500 } as ActivityRow)
  const cases: [forged: ActivityRow[], chain: Partial<RunReport['chain']>, what: string][] = [
    [rows.with(2, changed), {}, 'does not contain the hash of the entry before it'],
    [linkRows(rows.toSpliced(2, 1)), {}, 'is missing, or its number was changed'],
    [linkRows([rows[1], rows[0], ...rows.slice(2)] as ActivityRow[]), {}, 'is missing, or its number was changed'],
    [linkRows(rows.map((row) => ({ ...row, partyId: 'pty_another' }))), {}, 'belongs to another party'],
    [linkRows(rows.with(0, { ...rows[0], status: 500 } as ActivityRow)), { first: place(rows[0]) }, 'is not the first'],
    [rows.slice(0, 4), { last: place(rows[4]) }, 'is not the last'],
    [rows, { last: { sequence: 999, hash: rows[4]?.hash ?? '' } }, 'is not the last'],
    [rows, { first: { sequence: { toString: 1 }, hash: '' } as never }, 'has a value of the wrong type'],
    [rows, { rows: 6 }, 'has 5 entries, but the report states 6'],
    [rows, { last: null }, 'is not the last'],
    [[], { first: place(rows[0]) }, 'states a first or last entry, but its chain is empty'],
    [[], { last: place(rows[0]) }, 'states a first or last entry, but its chain is empty'],
    [rows.map((row) => ({ ...row, id: 'act\n' })).map(rehash), {}, 'cannot be read'],
    [rows.map((row, index) => ({ ...row, sequence: index + 0.5 })).map(rehash), {}, 'cannot be read'],
  ]
  for (const [index, [forged, chain, what]] of cases.entries()) {
    const verdict = { result: 'broken', what: expect.stringContaining(what) }
    expect(await verifyForgery(forged, chain), `case ${index}`).toMatchObject(verdict)
  }
})
