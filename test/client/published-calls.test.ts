import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { samples } from '../isolation/samples.ts'
import { sqlite } from '../support/databases.ts'
import { relationshipsFor } from '../support/relationships.ts'
import { type Answer, createWorld } from '../support/world.ts'
import { calls, shapes } from './published-calls.ts'

interface Call {
  key: OperationKey
  method: string
  path: string
  /** Whether the client sends an Idempotency-Key. */
  hasKey: boolean
  status: number
  result: 'one' | 'page' | 'several' | 'deleted' | 'none'
  shape: string
  /** The expected fields of the answer's `meta`, apart from the pagination of a list. */
  meta: string
}

const row = /^(\w+): (\w+) (\S+)( K)? → (\d+) (\w+) (\w+)(?: \+([^*]+))?(?: \*(.+))?$/
const all = calls.trim().split('\n').map(parseCall)

function parseCall(line: string): Call {
  const [, key, method = '', path = '', K, status, result, type = '', more = '', meta = ''] = row.exec(line) ?? []
  if (key === undefined) throw new Error(`Bug: ${line} is not a call`)
  const shape = `${shapes[type]} ${more}`.trim()
  return {
    ...{ key: key as OperationKey, method, path, hasKey: K !== undefined },
    ...{ status: Number(status), result: result as Call['result'], shape, meta },
  }
}

/**
 * The check for each field type. Fields without an expected type are not checked: the published client ignores them.
 */
const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  boolean: (value) => typeof value === 'boolean',
  list: Array.isArray,
  object: (value) => typeof value === 'object' && !Array.isArray(value),
  number: Number.isInteger,
  string: (value) => typeof value === 'string',
  time: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
}

function warnings(resource: { attributes?: Record<string, unknown> }, shape: string): string[] {
  return shape
    .split(' ')
    .filter(Boolean)
    .filter((field) => {
      const [, name = '', kind = '', nullable] = /^(\w+):(\w+)(\?)?$/.exec(field) ?? []
      const value = resource.attributes?.[name]
      return value === null ? nullable === undefined : value === undefined || checks[kind]?.(value) !== true
    })
}

describe('the calls of the published client', () => {
  let testGrounds: Grounds
  beforeAll(async () => {
    testGrounds = await grounds(sqlite)
  })
  afterAll(() => testGrounds.world.drop())

  /**
   * Wraps attributes in the `data` envelope. The published client adds the envelope only when it creates an agent key.
   * For other calls, users of the client must give it a `fetch` function that adds the envelope.
   */
  const wrapAttributes = (flat: object, relationships: ReturnType<typeof relationshipsFor>) => ({
    data: { attributes: flat, relationships },
  })

  async function sendCall({ key, method, path, hasKey }: Call): Promise<Answer> {
    const sample = samples[key]
    const operation: OperationDefinition = catalogue[key]
    const isOfCustomer = sample.reach === 'connected' && sample.ownParty === undefined
    const ids = await sample.make(testGrounds, isOfCustomer ? testGrounds.places.granted : testGrounds.places.own)
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''))
    const flat = operation.attributes && { ...sample.attributes?.(ids, testGrounds) }
    const body = flat && JSON.stringify(wrapAttributes(flat, relationshipsFor(operation, ids)))
    return testGrounds.world.send(method, address, {
      key: testGrounds.places.own.apiKey,
      idempotencyKey: hasKey ? `client-${key}` : null,
      ...(body === undefined ? {} : { body }),
    })
  }

  test.each(all.map((call) => [`${call.method} ${call.path}`, call] as const))(
    '%s returns every field that the published client expects',
    async (_, call) => {
      expect(catalogue[call.key]).toMatchObject({ method: call.method, path: call.path })
      const { status, json, text } = await sendCall(call)
      expect(status, text).toBe(call.status)
      const { data, meta } = json
      if (call.result === 'none' && data === null) return
      expect(Array.isArray(data), text).toBe(call.result === 'page' || call.result === 'several')
      // The client requests further pages until there is no cursor.
      if (call.result === 'page') {
        const { hasMore, nextCursor } = meta.pagination
        expect([hasMore, typeof nextCursor]).toEqual(hasMore ? [true, 'string'] : [false, 'object'])
      }
      if (call.result === 'deleted') expect(meta.deleted).toBe(true)
      expect(warnings({ attributes: meta }, call.meta), text).toEqual([])
      for (const resource of [data].flat()) {
        expect([typeof resource.type, typeof resource.id]).toEqual(['string', 'string'])
        expect(warnings(resource, call.shape), text).toEqual([])
      }
      // An empty list would leave the fields unchecked.
      if (Array.isArray(data)) expect(data.length).toBeGreaterThan(0)
    },
  )

  test.each(['getParty', 'listPartyMembers'])(
    '%s returns every field, even if the party was never updated',
    async (key) => {
      const world = await createWorld(sqlite)
      const call = all.find((listed) => listed.key === key)
      if (call === undefined) throw new Error(`Bug: ${key} is not a call`)
      const { json, text } = await world.send(call.method, call.path, { key: world.apiKey })
      for (const resource of [json.data].flat()) expect(warnings(resource, call.shape), text).toEqual([])
      await world.drop()
    },
  )

  test('every call of the published client is listed exactly once', () => {
    expect(new Set(all.map(({ key }) => key)).size).toBe(all.length)
    expect(all.length).toBe(96)
    const published = Object.entries<OperationDefinition>(catalogue).filter(([, { extension }]) => !extension)
    const onlyInSpecification = published.filter(([key]) => !all.some((call) => call.key === key)).map(([key]) => key)
    // These operations are in the specification, but not in the published client.
    const cards = ['issueAgentCard', 'getAgentCardDetails', 'getCardTransaction', 'simulateCardAuthorization']
    cards.push('simulateCardCapture', 'simulateCardReversal', 'simulateCardExpiration', 'simulateCardRefund')
    expect(onlyInSpecification.toSorted()).toEqual([...cards, 'cancelSubscription', 'createWire', 'whoami'].toSorted())
  })
})
