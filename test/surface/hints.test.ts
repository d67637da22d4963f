import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasEffectPerCall, type OperationDefinition } from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { send } from '../isolation/prober.ts'
import { permittedStatus, samples } from '../isolation/samples.ts'
import { readAllTables } from '../ledger/books.ts'
import { sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'

const entries = Object.entries<OperationDefinition>(catalogue) as [OperationKey, OperationDefinition][]
const changing = entries.filter(([, { effect }]) => effect !== 'read')
const hints = new Map(toolList(everyTool('sandbox')).map(({ name, annotations }) => [name, annotations]))

/**
 * Operations that are not idempotent, but refuse an identical second call. The second call therefore changes nothing.
 */
const noRepeats: readonly OperationKey[] = ['rotateAgentKey', 'simulateSubscriptionCheckout', 'payShopCheckout']

/** Tables that every request may change, for example by recording its answer. */
const requestTables = ['activity', 'partyHeads', 'activityResources', 'idempotencyRecords', 'rateLimits']
requestTables.push('events', 'runs', 'runEntries', 'runMinutes')
// Saving a snapshot a second time replaces the first snapshot, so the rows differ.
requestTables.push('snapshots', 'snapshotRows')

describe('the hint that a tool is idempotent', () => {
  let on: Grounds
  beforeAll(async () => {
    on = await grounds(sqlite)
  })
  afterAll(() => on.world.drop())

  /** Returns all rows, without the tables and counters that every request may change. */
  const readRows = async () => {
    const tables = await readAllTables(on.world.store)
    for (const name of requestTables) tables.delete(name)
    const rows = [...tables].flatMap(([name, all]) => all.map((row) => `${name} ${JSON.stringify(row)}`))
    return rows.map((row) => row.replace(/"(version|epoch|settingsRevision)":\d+/g, '')).toSorted()
  }

  test.each(sampleOf(changing, 2))('the hint of %s is correct', async (key, operation) => {
    const sample = samples[key]
    const needsCustomer = sample.reach === 'connected' && sample.ownParty === undefined
    const ids = await sample.make(on, needsCustomer ? on.places.granted : on.places.own)
    const attributes = sample.attributes?.(ids, on)
    const request = { key: on.places.own[sample.who === 'owners' ? 'apiKey' : 'agentKey'], ids }
    const same = { ...sample, attributes: () => attributes ?? {} }
    const first = await send(on, operation, same, request)
    expect(first.status, first.text).toBe(permittedStatus(operation, sample))
    const rowsAfterFirst = await readRows()
    const second = await send(on, operation, same, request)
    const changed = (await readRows()).filter((row) => !rowsAfterFirst.includes(row))
    const isCarriedOutTwice = hasEffectPerCall(operation) && !noRepeats.includes(key)
    if (isCarriedOutTwice) expect(changed, second.text).not.toEqual([])
    else expect(changed, second.text).toEqual([])
    expect(hints.get(operation.name)?.idempotentHint).toBe(!hasEffectPerCall(operation))
  })
})
