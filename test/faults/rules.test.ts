import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CountedRule, type FaultableRequest, matchesGlob, outcomeOf } from '../../src/service/rules/faults.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'

const partyIds = ['pty_a', 'pty_b']
const runs = ['run 1', 'run 2', null]
const operations = [
  { name: 'issue_agent_card', effect: 'write', result: 'one', permission: 'cards.issue' },
  { name: 'get_agent_card', effect: 'read', result: 'one', permission: 'cards.read' },
  { name: 'list_agent_cards', effect: 'read', result: 'page', permission: 'cards.read' },
  { name: 'set_sandbox_fault', effect: 'write', result: 'one', permission: 'sandbox.manage' },
] as const

const requests = fc.record({
  path: fc.constantFrom('/agent-cards', '/agent-cards/pcd_1', '/mcp'),
  operation: fc.constantFrom(...operations),
  door: fc.constantFrom('api' as const, 'api' as const, 'mcp' as const),
  partyId: fc.constantFrom(...partyIds),
  instanceId: fc.constantFrom(...runs),
})

const count = fc.integer({ min: 1, max: 4 })
const when = fc.record(
  {
    nth: count,
    every: count,
    times: count,
    probability: fc.constantFrom(0.25, 0.5, 1),
    instanceId: fc.constantFrom('run 1', 'run 2'),
  },
  { requiredKeys: [] },
)
const rules: fc.Arbitrary<FaultRule> = fc
  .record(
    {
      operation: fc.constantFrom('*', '*', '*', ...operations.map(({ name }) => name)),
      path: fc.constantFrom('/**', '/agent-cards/*', '/mcp'),
      when,
      fault: fc.constantFrom('reset' as const, 'reset' as const, 'stale' as const, 'empty_page' as const),
      seed: fc.constantFrom('1', '2'),
    },
    { requiredKeys: ['fault'] },
  )
  .filter(({ operation, path }) => operation !== undefined || path !== undefined)

/** Returns a pseudo-random number from 0 to 0.99 that depends only on the length of the parts. */
const draw = (...parts: (string | number)[]) => ((parts.join(' ').length * 37) % 100) / 100

/**
 * Returns, for each request of the history, the index of the rule that hits it; undefined if no rule does. Computes the
 * result directly from the whole history.
 */
function expectedHits(all: FaultRule[], history: FaultableRequest[]): (number | undefined)[] {
  const hits = all.map(() => 0)
  const matched = all.map(() => 0)
  return history.map((request) => {
    const globs: Record<string, RegExp> = {
      '/**': /^\/.*$/,
      '/agent-cards/*': /^\/agent-cards\/[^/]*$/,
      '/mcp': /^\/mcp$/,
    }
    let hit: number | undefined
    for (const [index, { operation, path, when = {}, fault, seed = '' }] of all.entries()) {
      const { name, effect, result, permission } = request.operation ?? { name: '' }
      const fits =
        permission !== 'sandbox.manage' &&
        (path !== undefined || request.door === 'api') &&
        (fault !== 'stale' || effect === 'read') &&
        (fault !== 'empty_page' || result === 'page') &&
        [undefined, '*', name].includes(operation) &&
        (path === undefined || globs[path]?.test(request.path)) &&
        (when.instanceId === undefined || (when.instanceId === request.instanceId && request.partyId === 'pty_a'))
      if (!fits) continue
      const number = (matched[index] ?? 0) + 1
      matched[index] = number
      const holds =
        (when.nth ?? number) === number &&
        number % (when.every ?? 1) === 0 &&
        (hits[index] ?? 0) < (when.times ?? Number.POSITIVE_INFINITY) &&
        (when.probability === undefined || draw(seed, `rule ${index}`, number) < when.probability)
      if (!holds || hit !== undefined) continue
      hit = index
      hits[index] = (hits[index] ?? 0) + 1
    }
    return hit
  })
}

describe('the requests that fault rules hit', () => {
  test('rules hit the same requests as in a model that replays the whole history', () => {
    const property = fc.property(
      fc.array(rules, { minLength: 1, maxLength: 4 }),
      fc.array(requests, { minLength: 10, maxLength: 40 }),
      (all, history) => {
        let counted: CountedRule[] = all.map((rule, index) => {
          return { id: `rule ${index}`, rule, partyId: 'pty_a', matched: 0, hits: 0 }
        })
        const hits = history.map((request) => {
          const { matched, hit } = outcomeOf(counted, request, draw)
          counted = counted.map((one) => ({
            ...one,
            matched: one.matched + Number(matched.includes(one.id)),
            hits: one.hits + Number(hit?.id === one.id),
          }))
          return hit === undefined ? undefined : Number(hit.id.slice('rule '.length))
        })
        expect(hits).toEqual(expectedHits(all, history))
      },
    )
    fc.assert(property, { numRuns: 500, seed: 1 })
  })

  test.each([
    ['/agent-cards/*', '/agent-cards/pcd_1', true],
    ['/agent-cards/*', '/agent-cards/', true],
    ['/agent-cards/*', '/agent-cards/pcd_1/freeze', false],
    ['/agent-cards/*/freeze', '/agent-cards/pcd_1/freeze', true],
    ['/agent-cards/**', '/agent-cards/pcd_1/freeze', true],
    ['/**/freeze', '/agent-cards/pcd_1/freeze', true],
    ['/agent-cards', '/agent-cards/pcd_1', false],
    ['/agent.cards', '/agent-cards', false],
    ['/(a|b)+$', '/(a|b)+$', true],
  ])('matching the pattern %s against the path %s gives %s', (glob, path, expected) => {
    expect(matchesGlob(glob, path)).toBe(expected)
  })

  test('matching reads each character of a path only once, however many stars the pattern has', () => {
    const stars = `/${'**a'.repeat(60)}b`
    let steps = 0
    const path = {
      *[Symbol.iterator]() {
        for (let index = 0; index < 4000; index++) {
          steps += 1
          yield 'a'
        }
      },
    }
    expect(matchesGlob(stars, path as unknown as string)).toBe(false)
    expect(steps).toBe(4000)
  })
})
