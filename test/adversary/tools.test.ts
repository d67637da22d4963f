import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OperationDefinition, toolsets } from '../../src/core/operation.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { type Sample, samples } from '../isolation/samples.ts'
import { type Connected, connectHost } from '../mcp/connected.ts'
import { errorOf, hosts } from '../mcp/hosts.ts'
import { databasesForLong, postgres, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { relationshipsFor } from '../support/relationships.ts'
import { type Attacker, attackersOf } from './attackers.ts'
import { noTraces, tracesOf } from './traces.ts'

const operations = Object.entries(catalogue) as [OperationKey, OperationDefinition][]

const codes: Record<number, string> = { 401: 'unauthenticated', 403: 'forbidden', 404: 'not_found' }

/** Returns the arguments of a tool call that is equivalent to the sample's REST request. */
function argumentsOf(on: Grounds, operation: OperationDefinition, sample: Sample, ids: Record<string, string>) {
  const named = Object.keys(operation.params?.shape ?? {}).map((name) => [name, ids[name] ?? sample.named?.[name]])
  const related = relationshipsFor(operation, ids) && { agentId: ids.agentId }
  return { ...sample.query, ...sample.attributes?.(ids, on), ...Object.fromEntries(named), ...related }
}

/** The databases, and the attackers to test on each. PostgreSQL is slower, so fewer attackers are tested on it. */
const tables = [
  { database: sqlite, attackerNames: /./ },
  { database: postgres, attackerNames: /removed customer|another/ },
] as const

describe.each(tables.filter(({ database }) => databasesForLong.includes(database)))(
  'tool calls of attackers on $database.name',
  ({ database, attackerNames }) => {
    let on: Grounds
    const mcp = new Map<Attacker, Connected>()

    beforeAll(async () => {
      on = await grounds(database)
      for (const attacker of await attackersOf(on)) {
        const { credential, name } = attacker
        if (credential === null || !attackerNames.test(name)) continue
        const options = { key: credential, toolsets: [...toolsets] }
        mcp.set(attacker, await connectHost(on.world, hosts[1].open, options))
      }
    }, 60_000)
    afterAll(async () => {
      for (const { close } of mcp.values()) await close()
      await on.world.drop()
    })

    test.each(sampleOf(operations, 24))('the tool %s refuses attackers and changes nothing', async (key, operation) => {
      const sample = samples[key]
      const ids = (await sample.make(on, on.places.own)) as Record<string, string>
      const input = argumentsOf(on, operation, sample, ids)
      const wrong: string[] = []
      const attack = async (attacker: Attacker, expected: readonly number[]) => {
        const acting = sample.reach === 'acting' ? attacker.customerPartyId : undefined
        const callInput = { ...input, ...(acting === undefined ? {} : { customerPartyId: acting }) }
        const result = await mcp.get(attacker)?.host.callTool(operation.name, callInput)
        const { code, detail } = result?.isError === true ? errorOf(result) : { code: 'not refused', detail: '' }
        if (!expected.some((status) => codes[status] === code)) wrong.push(`${attacker.name}: ${code} ${detail}`)
      }
      const refused = [...mcp.keys()].flatMap((attacker) => {
        const expected = attacker.refusalStatuses(operation, sample)
        return expected === undefined ? [] : [{ attacker, expected }]
      })
      const groups = Map.groupBy(refused, ({ attacker, expected }) =>
        expected.includes(404) ? attacker.partyId : undefined,
      )
      for (const [ownPartyId, group] of groups) {
        const traces = await tracesOf(on.world, ownPartyId, async () => {
          for (const { attacker, expected } of group) await attack(attacker, expected)
        })
        expect(traces, group.map(({ attacker }) => attacker.name).join(', ')).toEqual(noTraces)
      }
      expect(wrong).toEqual([])
    })
  },
)
