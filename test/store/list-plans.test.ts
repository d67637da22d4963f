import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Connection } from '../../src/service/store/engine/sqlite-connection.ts'
import { eventsOfRecord } from '../../src/service/store/events.ts'
import { ledgerOfPosting, ledgerOfRecords } from '../../src/service/store/ledger.ts'
import { entriesWithText } from '../../src/service/store/run-search.ts'
import { tables } from '../../src/service/store/schema/tables.ts'
import { sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createSite, lists, pathsOf, type Site } from './list-reads.ts'

/**
 * These tests request every list, and check SQLite's plans for the queries that the service runs. The plans use no
 * statistics, so they do not depend on the number of rows.
 */

let site: Site
let explainer: DatabaseSync
const executed = new Set<string>()

beforeAll(async () => {
  site = await createSite(sqlite)
  explainer = new DatabaseSync(site.world.url.slice('sqlite:'.length), { readOnly: true })
  const query = Connection.prototype.query
  vi.spyOn(Connection.prototype, 'query').mockImplementation(function (this: Connection, compiled) {
    executed.add(compiled.sql)
    return query.call(this, compiled) as never
  })
})
afterAll(async () => {
  vi.restoreAllMocks()
  explainer.close()
  await site.world.drop()
})

test.each(lists)('every query of $name uses an index, with any filter and for any caller', async (list) => {
  executed.clear()
  let answered = 0
  for (const { key, query } of Object.values(site.callers)) {
    for (const path of sampleOf(pathsOf(list, site, query), 4)) {
      const { status, json } = await site.world.get(path, { key })
      // Callers without permission get an error, and so do requests for a customer that lacks the record in the path.
      expect([200, 400, 403, 404], `${path}: ${status}`).toContain(status)
      if (status === 200) answered += 1
      const { nextCursor } = json.meta?.pagination ?? {}
      if (nextCursor) expect((await site.world.get(`${path}&cursor=${nextCursor}`, { key })).status).toBe(200)
    }
  }
  expect(answered).toBeGreaterThan(0)
  const reads = [...executed].filter((sql) => sql.startsWith('select'))
  expect(reads.flatMap((sql) => unboundedParts(sql))).toEqual([])
})

test("the console's searches use an index, and each query reads a limited number of rows", async () => {
  executed.clear()
  const partyId = (await site.world.whoami()).partyId
  const text = 'text'
  await site.world.store.read(async (tx) => {
    for (const isOldestFirst of [false, true]) {
      await entriesWithText(tx, { partyId, text, isOldestFirst }, { limit: 1, fromId: null })
      await entriesWithText(tx, { partyId, text, isOldestFirst }, { limit: 1, fromId: 'ent_1' })
    }
    await ledgerOfRecords(tx, { partyId, sourceIds: [text, partyId] }, { limit: 1, fromId: 'pst_1' })
    await ledgerOfPosting(tx, partyId, 'pst_1')
    await eventsOfRecord(tx, { partyId, resourceId: text }, { limit: 1, before: null })
  })
  const reads = [...executed].filter((sql) => /"(?:runEntries|ledgerEntries|events)"/.test(sql))
  expect(reads).toHaveLength(12)
  for (const sql of reads) {
    const steps = explainer.prepare(`explain query plan ${sql}`).all() as unknown as Step[]
    expect([sql, scans(steps), steps.filter(({ detail }) => detail.startsWith('USE TEMP'))]).toEqual([sql, [], []])
    // Each query limits the number of rows, the event numbers or the ids that it reads.
    expect(sql).toMatch(/"id" [<>] \?.* limit \?|order by "id" (?:asc |desc )?limit \?|"sequence" >= \?|"id" in \(/)
  }
})

test('the check of query plans detects a scan, a full sort and a filter that the index does not cover', () => {
  const cards = 'select * from "agentCards" where'
  const seen = (sql: string) => unboundedParts(sql).map((what) => what.split(':')[0])
  expect(seen(`${cards} "merchantName" = ?`)).toEqual(['scans agentCards'])
  expect(seen(`${cards} "partyId" = ? order by "createdAtMs" limit ?`)).toEqual(['use temp b-tree for order by'])
  expect(seen(`${cards} "partyId" = ? and "merchantName" = ? order by "id" desc limit ?`)).toEqual([
    'filters by merchantName',
  ])
  expect(seen(`${cards} "agentId" = ? and "merchantName" in (?, ?) order by "id"`)).toEqual([
    'filters by several of merchantName',
  ])
  expect(unboundedParts(`${cards} "partyId" = ? order by "id" desc limit ?`)).toEqual([])
})

interface Step {
  id: number
  parent: number
  detail: string
}

/** Describes the parts of a query that may read more rows than a page has. Each description includes the query. */
function unboundedParts(sql: string): string[] {
  const steps = explainer.prepare(`explain query plan ${sql}`).all() as unknown as Step[]
  return [...scans(steps), ...sorts(sql, steps), ...filters(sql, steps), ...members(sql, steps)].map(
    (what) => `${what}: ${sql}`,
  )
}

/** Tables that never have more than a few rows. */
const small = ['clock', 'world', 'snapshots', 'rootKeys', 'signingKeys']

function scans(steps: Step[]): string[] {
  const scanned = steps.flatMap(({ detail }) => /^SCAN (\w+)/.exec(detail)?.[1] ?? [])
  return scanned.filter((name) => Object.hasOwn(tables, name) && !small.includes(name)).map((name) => `scans ${name}`)
}

/**
 * Returns the steps that may sort more rows than a page has. Omits a sort if the query finds its rows by their ids or
 * by `createIndexWalk`, because there are few such rows.
 */
function sorts(sql: string, steps: Step[]): string[] {
  const sorting = steps.filter(({ detail }) => detail.startsWith('USE TEMP B-TREE'))
  return sorting.flatMap(({ parent, detail }) => {
    const sources = steps.filter((step) => step.parent === parent && /^(SCAN|SEARCH)/.test(step.detail))
    const isOfPage = / in \(\?/.test(sql) || sources.some((step) => /^SCAN (walk|\()|\(id=\?\)/.test(step.detail))
    return isOfPage ? [] : [detail.toLowerCase()]
  })
}

/**
 * Returns the columns that a query compares with several values, but that are not in the index that the query uses.
 * Such a query may read more rows than a page has.
 */
function members(sql: string, steps: Step[]): string[] {
  // A query with this condition reads events only from a window of a fixed size.
  if (sql.includes('"sequence" >= ?')) return []
  const bound = new Set(steps.flatMap(({ detail }) => [...detail.matchAll(/(\w+)=\?/g)].map(([, name]) => name)))
  const wanted = [...sql.matchAll(/"(\w+)" in \((?:\?|'\w+'|select)/g)].map(([, name = '']) => name)
  return wanted.filter((name) => !bound.has(name)).map((name) => `filters by several of ${name}`)
}

/**
 * Columns that need no index, because filtering by them excludes no rows: a revoked agent is detached from its wallets,
 * and all agents of a wallet have the wallet's `partyId`.
 */
const joinedFilters: readonly string[] = ['agents.status', 'walletAgents.partyId']

/** Returns the columns by which a query with a limit filters, but that are not in the index that the query uses. */
function filters(sql: string, steps: Step[]): string[] {
  if (!sql.includes(' limit ?')) return []
  const bound = steps.flatMap(({ detail }) => [...detail.matchAll(/(\w+)(?:=\?| IS NULL)/g)].map(([, name]) => name))
  const wanted = [...sql.matchAll(/(?:"(\w+)"\.)?"(\w+)" = (?:\?|'\w+')/g)]
  return wanted.flatMap(([, table, name = '']) => {
    if (joinedFilters.includes(`${table}.${name}`)) return []
    // If a row is found by its id, checking its party needs no index.
    if (name === 'partyId' && steps.some(({ detail }) => detail.endsWith('(id=?)'))) return []
    const needed = wanted.filter(([, , other]) => other === name).length
    return bound.filter((one) => one === name).length >= needed ? [] : [`filters by ${name}`]
  })
}
