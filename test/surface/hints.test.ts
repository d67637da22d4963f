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

/** Operations whose second call is refused, although each success creates something, such as a secret or a payment. */
const refusedOnce: readonly OperationKey[] = ['rotateAgentKey', 'simulateSubscriptionCheckout', 'payShopCheckout']

const everyRequests = ['activity', 'partyHeads', 'activityResources', 'idempotencyRecords', 'rateLimits']
everyRequests.push('events', 'runs', 'runEntries', 'runMinutes')
// Saving a snapshot again replaces its row.
everyRequests.push('snapshots', 'snapshotRows')

describe('the hint that a tool is idempotent is true', () => {
  let on: Grounds
  beforeAll(async () => {
    on = await grounds(sqlite)
  })
  afterAll(() => on.world.drop())

  /** Returns all records, except those that every request writes, such as the activity and the recorded answer. */
  const state = async () => {
    const tables = await readAllTables(on.world.store)
    for (const name of everyRequests) tables.delete(name)
    const rows = [...tables].flatMap(([name, all]) => all.map((row) => `${name} ${JSON.stringify(row)}`))
    return rows.map((row) => row.replace(/"(version|epoch|settingsRevision)":\d+/g, '')).toSorted()
  }

  test.each(sampleOf(changing, 2))('%s', async (key, operation) => {
    const sample = samples[key]
    const isOfCustomer = sample.reach === 'connected' && sample.ownParty === undefined
    const ids = await sample.make(on, isOfCustomer ? on.places.granted : on.places.own)
    const attributes = sample.attributes?.(ids, on)
    const request = { key: on.places.own[sample.who === 'owners' ? 'apiKey' : 'agentKey'], ids }
    const same = { ...sample, attributes: () => attributes ?? {} }
    const first = await send(on, operation, same, request)
    expect(first.status, first.text).toBe(permittedStatus(operation, sample))
    const between = await state()
    const second = await send(on, operation, same, request)
    const changed = (await state()).filter((row) => !between.includes(row))
    const again = hasEffectPerCall(operation) && !refusedOnce.includes(key)
    if (again) expect(changed, second.text).not.toEqual([])
    else expect(changed, second.text).toEqual([])
    expect(hints.get(operation.name)?.idempotentHint).toBe(!hasEffectPerCall(operation))
  })
})
