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
 * Returns whether an operation's records are part of the world. Webhooks belong to their receivers, and
 * applications and trusted issuers are connections, so these survive a restore.
 */
const isOfWorld = ({ permission }: OperationDefinition) =>
  permission !== 'sandbox.manage' && !/^(webhooks|applications)\./.test(permission)
const changing = operations.filter(([, operation]) => operation.effect !== 'read' && isOfWorld(operation))
/** Reads of the whole world that need no id, except for the activity, which contains the restore itself. */
const reading = operations.filter(
  ([key, operation]) =>
    operation.effect === 'read' && operation.params === undefined && isOfWorld(operation) && key !== 'listActivity',
)

/** A restore undoes every change of every operation, in each row and in each byte of the answers. */
describe.each(databases)('on $name a restore undoes', (database) => {
  let on: Grounds

  beforeAll(async () => {
    on = await grounds(database)
  }, 60_000)
  afterAll(() => on.world.drop())

  const answers = async () => {
    const answersByPath: Record<string, string> = {}
    for (const [key, operation] of reading) {
      for (const who of ['agentKey', 'apiKey'] as const) {
        const answer = await send(on, operation, samples[key], { key: on.world[who], ids: {} })
        // Leaves out the last use of the key, which this read itself changes.
        answersByPath[`${key} ${who}`] = answer.text.replaceAll(
          /"(lastUsedAt|lastActiveAt)":("[^"]*"|null)|req_\w+/g,
          '',
        )
      }
    }
    return answersByPath
  }

  const cases = database === sqlite ? sampleOf(changing, 20) : sampleOf(changing, 60, 7)
  test.each(cases)('%s', async (key, operation) => {
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
