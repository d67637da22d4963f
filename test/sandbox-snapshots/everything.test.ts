import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { send } from '../isolation/prober.ts'
import { permittedStatus, samples } from '../isolation/samples.ts'
import { proveBooks } from '../ledger/books.ts'
import { databases, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { worldRows } from './rows.ts'

const operations = Object.entries<OperationDefinition>(catalogue) as [OperationKey, OperationDefinition][]
/**
 * Returns whether an operation's records are part of the world that a restore replaces. Webhooks, applications and
 * trusted issuers are not part of it, because they connect outside programs to the service.
 */
const isInWorld = ({ permission }: OperationDefinition) =>
  permission !== 'sandbox.manage' && !/^(webhooks|applications)\./.test(permission)
const changes = operations.filter(([, operation]) => operation.effect !== 'read' && isInWorld(operation))
/** The operations that read the world and need no id, without `listActivity`, because a restore adds an activity. */
const reads = operations.filter(
  ([key, operation]) =>
    operation.effect === 'read' && operation.params === undefined && isInWorld(operation) && key !== 'listActivity',
)

/** Compares all rows and all answers of `reads` before the operation with those after the restore. */
describe.each(databases)('restoring a snapshot on $name', (database) => {
  let on: Grounds

  beforeAll(async () => {
    on = await grounds(database)
  }, 60_000)
  afterAll(() => on.world.drop())

  const answers = async () => {
    const answersByPath: Record<string, string> = {}
    for (const [key, operation] of reads) {
      for (const who of ['agentKey', 'apiKey'] as const) {
        const answer = await send(on, operation, samples[key], { key: on.world[who], ids: {} })
        // Leaves out request ids, and the last use of the key, which this read itself changes.
        answersByPath[`${key} ${who}`] = answer.text.replaceAll(
          /"(lastUsedAt|lastActiveAt)":("[^"]*"|null)|req_\w+/g,
          '',
        )
      }
    }
    return answersByPath
  }

  const cases = database === sqlite ? sampleOf(changes, 20) : sampleOf(changes, 60, 7)
  test.each(cases)('a restore undoes every change that %s made', async (key, operation) => {
    const sample = samples[key]
    const { own, granted } = on.places
    const ids = await sample.make(on, sample.reach === 'connected' && sample.ownParty === undefined ? granted : own)
    const answersBefore = await answers()
    expect((await on.world.post('/simulations/snapshots', { name: 'before' })).status).toBe(200)
    const rowsBefore = await worldRows(on.world.store)
    const request = { key: on.world[sample.who === 'owners' ? 'apiKey' : 'agentKey'], ids }
    expect((await send(on, operation, sample, request)).status).toBe(permittedStatus(operation, sample))
    expect((await on.world.send('POST', '/simulations/snapshots/before/restore')).status).toBe(200)
    expect(await worldRows(on.world.store)).toEqual(rowsBefore)
    expect(await answers()).toEqual(answersBefore)
    await proveBooks(on.world.store)
  })
})
