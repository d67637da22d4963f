import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { clearFaults, counts, outcome, setFault } from './rules.ts'

const operations: OperationDefinition[] = Object.values(catalogue)
const managing = operations.filter(({ permission }) => permission === 'sandbox.manage')
const others = operations.filter(({ permission }) => permission !== 'sandbox.manage')

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite)
})
afterAll(() => world.drop())

/** Sends a request with invalid values and the credential. */
function ask({ method, path }: OperationDefinition, key: string) {
  const nobody = path.replace(/\{\w+\}/g, 'nobody')
  return world.send(method, nobody, { key, ...(method === 'GET' || method === 'DELETE' ? {} : { attributes: {} }) })
}

test.each(sampleOf(others, 3))('a rule for $name applies to its requests, whatever their values', async (operation) => {
  const { name } = operation
  await setFault(world, { id: 'it', operation: name, fault: 'error', code: 'mfa_required' })
  const outcomes = [await outcome(ask(operation, world.apiKey)), await outcome(ask(operation, world.agentKey))]
  expect(outcomes).toContain('428 mfa_required')
  // A caller without permission gets 403 instead of the fault.
  for (const one of outcomes) expect(one).toMatch(/^428 |^403 /)
  const met = outcomes.filter((one) => one.startsWith('428')).length
  expect(await counts(world)).toEqual({ it: [met, met] })
  await clearFaults(world)
})

test.each(managing)('no rule applies to $name, which manages the sandbox', async (operation) => {
  await setFault(world, { id: 'all', operation: '*', fault: 'error', code: 'mfa_required' })
  await setFault(world, { id: 'path', path: '/**', fault: 'error', code: 'mfa_required' })
  expect(await outcome(ask(operation, world.apiKey))).not.toMatch(/^428/)
  await clearFaults(world)
})
