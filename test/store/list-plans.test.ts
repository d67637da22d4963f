import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Connection } from '../../src/service/store/engine/sqlite-connection.ts'
import { eventsOfRecord } from '../../src/service/store/events.ts'
import { ledgerOfPosting, ledgerOfRecords } from '../../src/service/store/ledger.ts'
import { entriesWithText } from '../../src/service/store/run-search.ts'
import { tables } from '../../src/service/store/schema/tables.ts'
import { sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { lists, pathsOf, type Site, site } from './list-reads.ts'

/**
 * Checks the plans of the real SQLite queries of every list. The plans use no statistics, so the number of rows does
 * not matter.
 */

let on: Site
let explainer: DatabaseSync
const asked = new Set<string>()

beforeAll(async () => {
  on = await site(sqlite)
  explainer = new DatabaseSync(on.world.url.slice('sqlite:'.length), { readOnly: true })
  const query = Connection.prototype.query
  vi.spyOn(Connection.prototype, 'query').mockImplementation(function (this: Connection, compiled) {
    asked.add(compiled.sql)
    return query.call(this, compiled) as never
  })
})
afterAll(async () => {
  vi.restoreAllMocks()
  explainer.close()
  await on.world.drop()
})

test.each(lists)('$name walks an index, for any filter and caller', async (list) => {
  asked.clear()
  let answered = 0
  for (const { key, query } of Object.values(on.callers)) {
    for (const path of sampleOf(pathsOf(list, on, query), 4)) {
      const { status, json } = await on.world.get(path, { key })
      // Callers without permission, and customers without such a record, get an error.
      expect([200, 400, 403, 404], `${path}: ${status}`).toContain(status)
      if (status === 200) answered += 1
      const { nextCursor } = json.meta?.pagination ?? {}
      if (nextCursor) expect((await on.world.get(`${path}&cursor=${nextCursor}`, { key })).status).toBe(200)
    }
  }
  expect(answered).toBeGreaterThan(0)
  const reads = [...asked].filter((sql) => sql.startsWith('select'))
  expect(reads.flatMap((sql) => unbounded(sql))).toEqual([])
})

test("the console's searches walk an index, a limited number of rows at a time", async () => {
  asked.clear()
  const partyId = (await on.world.whoami()).partyId
  const text = 'text'
  await on.world.store.read(async (tx) => {
    for (const isOldestFirst of [false, true]) {
      await entriesWithText(tx, { partyId, text, isOldestFirst }, { limit: 1, fromId: null })
      await entriesWithText(tx, { partyId, text, isOldestFirst }, { limit: 1, fromId: 'ent_1' })
    }
    await ledgerOfRecords(tx, { partyId, sourceIds: [text, partyId] }, { limit: 1, fromId: 'pst_1' })
    await ledgerOfPosting(tx, partyId, 'pst_1')
    await eventsOfRecord(tx, { partyId, resourceId: text }, { limit: 1, before: null })
  })
  const reads = [...asked].filter((sql) => /"(?:runEntries|ledgerEntries|events)"/.test(sql))
  expect(reads).toHaveLength(12)
  for (const sql of reads) {
    const steps = explainer.prepare(`explain query plan ${sql}`).all() as unknown as Step[]
    expect([sql, scans(steps), steps.filter(({ detail }) => detail.startsWith('USE TEMP'))]).toEqual([sql, [], []])
    // The table is read by a key and within a limit of rows, of event numbers or of ids.
    expect(sql).toMatch(/"id" [<>] \?.* limit \?|order by "id" (?:asc |desc )?limit \?|"sequence" >= \?|"id" in \(/)
  }
})

test('the check detects a scan, a full sort and a filter that the index does not cover', () => {
  const cards = 'select * from "agentCards" where'
  const seen = (sql: string) => unbounded(sql).map((what) => what.split(':')[0])
  expect(seen(`${cards} "merchantName" = ?`)).toEqual(['scans agentCards'])
  expect(seen(`${cards} "partyId" = ? order by "createdAtMs" limit ?`)).toEqual(['use temp b-tree for order by'])
  expect(seen(`${cards} "partyId" = ? and "merchantName" = ? order by "id" desc limit ?`)).toEqual([
    'filters by merchantName',
  ])
  expect(seen(`${cards} "agentId" = ? and "merchantName" in (?, ?) order by "id"`)).toEqual([
    'filters by several of merchantName',
  ])
  expect(unbounded(`${cards} "partyId" = ? order by "id" desc limit ?`)).toEqual([])
})

interface Step {
  id: number
  parent: number
  detail: string
}

/** Returns the steps of a query's plan that read more than a page when there are many rows, each with the query. */
function unbounded(sql: string): string[] {
  const steps = explainer.prepare(`explain query plan ${sql}`).all() as unknown as Step[]
  return [...scans(steps), ...sorts(sql, steps), ...filters(sql, steps), ...members(sql, steps)].map(
    (what) => `${what}: ${sql}`,
  )
}

/** Tables with one or few rows. */
const small = ['clock', 'world', 'snapshots', 'rootKeys', 'signingKeys']

function scans(steps: Step[]): string[] {
  const scanned = steps.flatMap(({ detail }) => /^SCAN (\w+)/.exec(detail)?.[1] ?? [])
  return scanned.filter((name) => Object.hasOwn(tables, name) && !small.includes(name)).map((name) => `scans ${name}`)
}

/** Returns the steps that sort more than a page: more than the ids that a walk found, or the rows with these ids. */
function sorts(sql: string, steps: Step[]): string[] {
  const sorting = steps.filter(({ detail }) => detail.startsWith('USE TEMP B-TREE'))
  return sorting.flatMap(({ parent, detail }) => {
    const sources = steps.filter((step) => step.parent === parent && /^(SCAN|SEARCH)/.test(step.detail))
    const ofPage = / in \(\?/.test(sql) || sources.some((step) => /^SCAN (walk|\()|\(id=\?\)/.test(step.detail))
    return ofPage ? [] : [detail.toLowerCase()]
  })
}

/**
 * Returns the columns that a query filters by several values but that are not in the index, so that more than a page's
 * rows are read.
 */
function members(sql: string, steps: Step[]): string[] {
  // Events are read in windows of a fixed size.
  if (sql.includes('"sequence" >= ?')) return []
  const bound = new Set(steps.flatMap(({ detail }) => [...detail.matchAll(/(\w+)=\?/g)].map(([, name]) => name)))
  const wanted = [...sql.matchAll(/"(\w+)" in \((?:\?|'\w+'|select)/g)].map(([, name = '']) => name)
  return wanted.filter((name) => !bound.has(name)).map((name) => `filters by several of ${name}`)
}

/** Columns that filter only rows joined to one row, or that exclude no row, like the one party of a wallet. */
const joinedFilters: readonly string[] = ['agents.status', 'walletAgents.partyId']

/** Returns the columns that a query with a limit filters by, but that are not in the index it walks. */
function filters(sql: string, steps: Step[]): string[] {
  if (!sql.includes(' limit ?')) return []
  const bound = steps.flatMap(({ detail }) => [...detail.matchAll(/(\w+)(?:=\?| IS NULL)/g)].map(([, name]) => name))
  const wanted = [...sql.matchAll(/(?:"(\w+)"\.)?"(\w+)" = (?:\?|'\w+')/g)]
  return wanted.flatMap(([, of, name = '']) => {
    if (joinedFilters.includes(`${of}.${name}`)) return []
    // A row is found by its id, and its party is checked afterwards.
    if (name === 'partyId' && steps.some(({ detail }) => detail.endsWith('(id=?)'))) return []
    const needed = wanted.filter(([, , other]) => other === name).length
    return bound.filter((one) => one === name).length >= needed ? [] : [`filters by ${name}`]
  })
}
