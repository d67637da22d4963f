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
/**
 * The operations, with lists first. Requests of the other operations add ids of other parties to the caller's activity,
 * and in a list these ids would look like leaks.
 */
const inOrder = [
  ...operations.filter(([, { result }]) => result === 'page'),
  ...operations.filter(([, { result }]) => result !== 'page'),
]

test('every operation has a sample request', () => {
  expect(Object.keys(samples).sort()).toEqual(Object.keys(catalogue).sort())
})

/** The credentials to try on each database. PostgreSQL is slower, so only three credentials are tried there. */
const tables = [
  { database: sqlite, name: 'sqlite with all credentials', credentials: credentialKinds },
  {
    database: postgres,
    name: 'postgres with three credentials',
    credentials: ['party key with all scopes', 'agent key', 'agent grant without payments:read'],
  },
] as const

describe.each(tables.filter(({ database }) => databasesForLong.includes(database)))(
  'isolation of parties on $name',
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
      // Each test starts its sample at a different cell, so each credential and target is tried with many operations.
      const cells = sampleOf(selected, 24, tablesRun++)
      for (const cell of cells) wrong.push(...(await probe(cell)))
      count += cells.length
      expect(wrong).toEqual([])
    }

    const [exclusive, shared] = [inOrder.filter(([, { alone }]) => alone), inOrder.filter(([, { alone }]) => !alone)]
    test.each(shared)('%s gives each credential exactly the access that docs/service.md specifies', (_, operation) =>
      run(cellsOf(operation), checks.cell),
    )

    // Lists that need `sandbox.manage` are left out. They show the whole sandbox, not the data of one party.
    const lists = inOrder.filter(([, { result, permission }]) => result === 'page' && permission !== 'sandbox.manage')
    test.each(lists)("%s refuses a cursor from another party's list", (_, operation) =>
      run(cursorCells(operation), checks.cursor),
    )

    test('no request of one party changes the records of an unrelated party', async () => {
      const before = checks.strangersRowsBefore
      const after = await checks.strangersRows()
      const removedRows = before.filter((row) => !after.includes(row))
      const addedRows = after.filter((row) => !before.includes(row))
      expect({ removedRows, addedRows }).toEqual({ removedRows: [], addedRows: [] })
    })

    // These operations save or replace the whole sandbox, so they run after the test that compares the stranger's rows.
    test.each(exclusive)('%s gives each credential exactly the access that docs/service.md specifies', (_, operation) =>
      run(cellsOf(operation), checks.cell),
    )

    const replays = inOrder.filter(([, { idempotency }]) => idempotency === 'required')
    test.each(replays)(
      '%s never replays an answer to another party, even for the same idempotency key',
      (_, operation) => run(replayCells(operation), checks.replay),
    )

    // Both databases execute the same statements, so it is enough to check them on SQLite.
    test.runIf(database === sqlite)('each SQL statement specifies the party whose rows it uses', () => {
      expect(statements.texts.size).toBeGreaterThan(100)
      expect(faults(statements.texts)).toEqual([])
      expect(faults(['select * from "wallets" where "status" = ?', 'select * from "clock"'])).toEqual([
        'wallets of which party? select * from "wallets" where "status" = ?',
      ])
    })
  },
)
