import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { proveBooks } from '../ledger/books.ts'
import { databasesForLong, postgres, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { type Cell, cellsOf, cursorCells, replayCells } from './cells.ts'
import { type CredentialKind, credentialKinds } from './places.ts'
import { type Prober, prober } from './prober.ts'
import { samples } from './samples.ts'
import { faults, recordStatements } from './statements.ts'

const operations = Object.entries(catalogue) as [OperationKey, OperationDefinition][]
/** Lists run first: later, the caller's own activity contains the foreign ids of its requests. */
const inOrder = [
  ...operations.filter(([, { result }]) => result === 'page'),
  ...operations.filter(([, { result }]) => result !== 'page'),
]

test('every operation has a sample', () => {
  expect(Object.keys(samples).sort()).toEqual(Object.keys(catalogue).sort())
})

/**
 * The credentials tried on each database: all on SQLite; on the slower PostgreSQL, the two that may see and do the
 * most.
 */
const tables = [
  { database: sqlite, name: 'sqlite', credentials: credentialKinds },
  {
    database: postgres,
    name: 'postgres, a sample',
    credentials: ['party key with all scopes', 'agent key', 'agent grant without payments:read'],
  },
] as const

describe.each(tables.filter(({ database }) => databasesForLong.includes(database)))(
  'every operation x credential x target on $name',
  ({ database, name, credentials }) => {
    let checks: Prober
    let count = 0
    let tablesRun = 0
    let startedMs = 0
    const statements = recordStatements()

    beforeAll(async () => {
      startedMs = performance.now()
      checks = await prober(database)
    })
    afterAll(async () => {
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      console.info(`isolation on ${name}: ${count} cells of ${operations.length} operations in ${seconds} s`)
      await proveBooks(checks.on.world.store)
      await checks.on.world.drop()
      statements.stop()
    })

    const run = async (all: Cell[], probe: (cell: Cell) => Promise<string[]>) => {
      const wrong: string[] = []
      const selected = all.filter(({ credential }) => (credentials as readonly CredentialKind[]).includes(credential))
      // Each operation gets another selection, so that each credential and each target is tried with many operations.
      const cells = sampleOf(selected, 24, tablesRun++)
      for (const cell of cells) wrong.push(...(await probe(cell)))
      count += cells.length
      expect(wrong).toEqual([])
    }

    const [exclusive, shared] = [inOrder.filter(([, { alone }]) => alone), inOrder.filter(([, { alone }]) => !alone)]
    test.each(shared)('%s', (_, operation) => run(cellsOf(operation), checks.cell))

    // Lists of the whole sandbox belong to no party.
    const lists = inOrder.filter(([, { result, permission }]) => result === 'page' && permission !== 'sandbox.manage')
    test.each(lists)("%s refuses a cursor from another party's list", (_, operation) =>
      run(cursorCells(operation), checks.cursor),
    )

    test("none of these requests changed the stranger's records", async () => {
      const before = checks.strangersRowsBefore
      const after = await checks.strangersRows()
      const removedRows = before.filter((row) => !after.includes(row))
      const addedRows = after.filter((row) => !before.includes(row))
      expect({ removedRows, addedRows }).toEqual({ removedRows: [], addedRows: [] })
    })

    test.each(exclusive)('%s', (_, operation) => run(cellsOf(operation), checks.cell))

    const replays = inOrder.filter(([, { idempotency }]) => idempotency === 'required')
    test.each(replays)('%s replays no answer of another party', (_, operation) =>
      run(replayCells(operation), checks.replay),
    )

    /** Both databases get the same statements, so one run is enough. */
    test.runIf(database === sqlite)('each statement names the party of its rows', () => {
      expect(statements.texts.size).toBeGreaterThan(100)
      expect(faults(statements.texts)).toEqual([])
      expect(faults(['select * from "wallets" where "status" = ?', 'select * from "clock"'])).toEqual([
        'wallets of which party? select * from "wallets" where "status" = ?',
      ])
    })
  },
)
