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
  /** The fields of the answer's `meta`, except for a page's pagination. */
  meta: string
}

const row = /^(\w+): (\w+) (\S+)( K)? → (\d+) (\w+) (\w+)(?: \+([^*]+))?(?: \*(.+))?$/
const all = calls.trim().split('\n').map(callOf)

function callOf(line: string): Call {
  const [, key, method = '', path = '', K, status, result, type = '', more = '', meta = ''] = row.exec(line) ?? []
  if (key === undefined) throw new Error(`Bug: ${line} is no call`)
  const shape = `${shapes[type]} ${more}`.trim()
  return {
    ...{ key: key as OperationKey, method, path, hasKey: K !== undefined },
    ...{ status: Number(status), result: result as Call['result'], shape, meta },
  }
}

/** Checks a field's type. The client warns only about fields that are missing or have the wrong type. */
const checks: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  flag: (value) => typeof value === 'boolean',
  list: Array.isArray,
  map: (value) => typeof value === 'object' && !Array.isArray(value),
  number: Number.isInteger,
  text: (value) => typeof value === 'string',
  time: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
}

function warnings(resource: { attributes?: Record<string, unknown> }, shape: string): string[] {
  return shape
    .split(' ')
    .filter(Boolean)
    .filter((field) => {
      const [, name = '', kind = '', maybe] = /^(\w+):(\w+)(\?)?$/.exec(field) ?? []
      const value = resource.attributes?.[name]
      return value === null ? maybe === undefined : value === undefined || checks[kind]?.(value) !== true
    })
}

describe('a call of the published client', () => {
  let on: Grounds
  beforeAll(async () => {
    on = await grounds(sqlite)
  })
  afterAll(() => on.world.drop())

  /**
   * Wraps the attributes in a body. Except for an agent key, the client sends flat attributes, so its users wrap them
   * in their own `fetch`.
   */
  const wrapAttributes = (flat: object, relationships: ReturnType<typeof relationshipsFor>) => ({
    data: { attributes: flat, relationships },
  })

  async function sendCall({ key, method, path, hasKey }: Call): Promise<Answer> {
    const sample = samples[key]
    const operation: OperationDefinition = catalogue[key]
    const isOfCustomer = sample.reach === 'connected' && sample.ownParty === undefined
    const ids = await sample.make(on, isOfCustomer ? on.places.granted : on.places.own)
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''))
    const flat = operation.attributes && { ...sample.attributes?.(ids, on) }
    const body = flat && JSON.stringify(wrapAttributes(flat, relationshipsFor(operation, ids)))
    return on.world.send(method, address, {
      key: on.places.own.apiKey,
      idempotencyKey: hasKey ? `client-${key}` : null,
      ...(body === undefined ? {} : { body }),
    })
  }

  test.each(all.map((call) => [`${call.method} ${call.path}`, call] as const))('%s', async (_, call) => {
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
    // An empty list would prove nothing.
    if (Array.isArray(data)) expect(data.length).toBeGreaterThan(0)
  })

  test.each(['getParty', 'listPartyMembers'])('%s gets a complete answer from an unchanged party', async (key) => {
    const world = await createWorld(sqlite)
    const call = all.find((one) => one.key === key)
    if (call === undefined) throw new Error(`Bug: ${key} is no call`)
    const { json, text } = await world.send(call.method, call.path, { key: world.apiKey })
    for (const resource of [json.data].flat()) expect(warnings(resource, call.shape), text).toEqual([])
    await world.drop()
  })

  test('is listed once, and no call is missing', () => {
    expect(new Set(all.map(({ key }) => key)).size).toBe(all.length)
    expect(all.length).toBe(96)
    const published = Object.entries<OperationDefinition>(catalogue).filter(([, { extension }]) => !extension)
    const bySpecAlone = published.filter(([key]) => !all.some((call) => call.key === key)).map(([key]) => key)
    // These operations are in the specification, but not in the client.
    const cards = ['issueAgentCard', 'getAgentCardDetails', 'getCardTransaction', 'simulateCardAuthorization']
    cards.push('simulateCardCapture', 'simulateCardReversal', 'simulateCardExpiration', 'simulateCardRefund')
    expect(bySpecAlone.toSorted()).toEqual([...cards, 'cancelSubscription', 'createWire', 'whoami'].toSorted())
  })
})
