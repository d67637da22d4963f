import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { clearFaults, counts, outcome, setFault } from './rules.ts'

const operations: OperationDefinition[] = Object.values(catalogue)
const managementOperations = operations.filter(({ permission }) => permission === 'sandbox.manage')
const otherOperations = operations.filter(({ permission }) => permission !== 'sandbox.manage')

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite)
})
afterAll(() => world.drop())

/** Sends a request that has invalid ids and no attributes, with the given credential. */
function ask({ method, path }: OperationDefinition, key: string) {
  const url = path.replace(/\{\w+\}/g, 'invalid')
  return world.send(method, url, { key, ...(method === 'GET' || method === 'DELETE' ? {} : { attributes: {} }) })
}

test.each(sampleOf(otherOperations, 3))(
  'a fault rule for $name applies even to invalid requests',
  async (operation) => {
    const { name } = operation
    await setFault(world, { id: 'rule', operation: name, fault: 'error', code: 'mfa_required' })
    const outcomes = [await outcome(ask(operation, world.apiKey)), await outcome(ask(operation, world.agentKey))]
    expect(outcomes).toContain('428 mfa_required')
    // A caller without permission gets 403 instead of the fault.
    for (const one of outcomes) expect(one).toMatch(/^428 |^403 /)
    const hits = outcomes.filter((one) => one.startsWith('428')).length
    expect(await counts(world)).toEqual({ rule: [hits, hits] })
    await clearFaults(world)
  },
)

test.each(managementOperations)('no fault rule applies to $name, which manages the sandbox', async (operation) => {
  await setFault(world, { id: 'all', operation: '*', fault: 'error', code: 'mfa_required' })
  await setFault(world, { id: 'path', path: '/**', fault: 'error', code: 'mfa_required' })
  expect(await outcome(ask(operation, world.apiKey))).not.toMatch(/^428/)
  await clearFaults(world)
})
