import { idPrefixOf } from '../../src/core/accepted-values.ts'
import { inputParts, type OperationDefinition } from '../../src/core/operation.ts'
import type { JsonSchema } from '../../src/openapi/components.ts'
import type { Random } from '../../src/simulate/random.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import type { Ids } from '../isolation/makers.ts'
import { credentialKinds, type Grounds, type Place } from '../isolation/places.ts'
import { type Sample, samples } from '../isolation/samples.ts'
import { relationshipsFor } from '../support/relationships.ts'
import { makers } from './makers.ts'
import { type LiveIds, schemaOf, type Values } from './values.ts'

/** A request that can be sent more than once. */
export interface Call {
  key: OperationKey
  method: string
  path: string
  credential: string | null
  idempotencyKey: string
  instanceId: string | null
  body: string | undefined
}

/** The material for random calls: the service, random numbers, ids and values. */
export interface Drawing {
  on: Grounds
  random: Random
  ids: LiveIds
  values: Values
  /** The ids of records that later calls need. No random call revokes, deletes or freezes these records. */
  protectedIds: ReadonlySet<string>
}

/** Operations that disable a record whose id is in the call, such as a credential, an agent or a wallet. */
const disablingOperations: readonly OperationKey[] = [
  'revokeApiKey',
  'revokeAgentKey',
  'revokeApplication',
  'revokeTrustedIssuer',
  'rotateAgentKey',
  'deleteAgent',
  'freezeWallet',
]

/** Returns the ids of the agents, wallets and keys that all calls share. */
export async function sharedIds({ world, places }: Grounds): Promise<ReadonlySet<string>> {
  const all = Object.values(places)
  const keys = all.flatMap(({ apiKey, agentKey }) => [apiKey, agentKey])
  const keyIds = await Promise.all(keys.map(async (key) => (await world.whoami(key)).keyId))
  return new Set([...keyIds, ...all.flatMap(({ agentId, walletId }) => [agentId, walletId])])
}

const operationKeys = Object.keys(catalogue) as OperationKey[]

/** Operations that disturb many later calls, and how often each is drawn, in percent of the usual frequency. */
const rareOperations: Partial<Record<OperationKey, number>> = {
  resetSandbox: 15,
  restoreSandbox: 30,
  simulateComplianceDecision: 30,
}
for (const key of ['removeCustomer', 'simulateCustomerDisconnection', 'freezeWallet', 'setSandboxFault'] as const) {
  rareOperations[key] = 40
}

/** Draws an operation. All operations are equally likely, except the rare ones. */
export function drawOperation(random: Random): OperationKey {
  for (;;) {
    const key = random.pick(operationKeys)
    if (random.chance(rareOperations[key] ?? 100)) return key
  }
}

/** Operations on the whole sandbox that are inserted between calls, with their approximate numbers per 1,000 calls. */
const interludes = {
  setSandboxFault: 40,
  saveSandbox: 4,
  restoreSandbox: 3,
  resetSandbox: 1,
  advanceSandboxClock: 10,
} as const

/** Draws an operation to insert before the next call. Usually returns undefined, and nothing is inserted. */
export function drawInterlude(random: Random): OperationKey | undefined {
  const keys = Object.keys(interludes) as (keyof typeof interludes)[]
  return keys.find((key) => random.int(1, 1_000) <= interludes[key])
}

/**
 * The kinds of calls. `made` is a correct call on new records, `live` uses existing records and random values, and
 * `hostile` is a `live` call in which a value may also be invalid or missing.
 */
type CallKind = 'made' | 'live' | 'hostile'

let drawnCalls = 0

/** Draws a call of the given operation. If no kind is given, draws the kind too. */
export async function drawCall(drawing: Drawing, key: OperationKey, givenKind?: CallKind): Promise<Call> {
  const { on, random } = drawing
  const operation: OperationDefinition = catalogue[key]
  const sample = samples[key]
  const kind = givenKind ?? random.weighted({ made: 30, live: 55, hostile: 15 })
  const { place, credential } = drawCaller(drawing, sample, kind)
  const isOfCustomer = sample.reach === 'connected' && sample.ownParty === undefined
  const target = isOfCustomer && place.name === 'own' ? on.places.granted : place
  const ids = kind === 'made' ? await makeIds(drawing, key, target) : liveIds(drawing, key)
  const attributes = attributesOf(drawing, { operation, sample, ids, kind })
  const acting = kind === 'made' ? undefined : customerOf(drawing, sample)
  const inBody = operation.attributes?.shape.customerPartyId !== undefined
  const query = queryOf(drawing, operation, {
    ...sample.query,
    ...(acting && !inBody ? { customerPartyId: acting } : {}),
  })
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(ids[name] ?? sample.named?.[name] ?? 'none'),
  )
  const relationships = relationshipsFor(operation, ids)
  const data = attributes && {
    attributes: {
      ...attributes,
      ...(relationships && { agentId: undefined }),
      ...(acting && inBody ? { customerPartyId: acting } : {}),
    },
    relationships,
  }
  const hasBody = data !== undefined && !(operation.bodyOptional === true && random.chance(20))
  return {
    key,
    method: operation.method,
    path: kind === 'made' || query.size === 0 ? pathWith(path, sample.query) : `${path}?${query}`,
    credential,
    idempotencyKey: `random ${drawnCalls++}`,
    instanceId: random.chance(95) ? `run ${random.int(1, 5)}` : null,
    body: hasBody ? (kind === 'hostile' && random.chance(5) ? '{"data":' : JSON.stringify({ data })) : undefined,
  }
}

function pathWith(path: string, query: Record<string, string> = {}): string {
  const search = new URLSearchParams(query)
  return search.size === 0 ? path : `${path}?${search}`
}

function drawCaller({ on, random }: Drawing, { who }: Sample, kind: CallKind) {
  const { own, stranger, granted } = on.places
  const keyOf = (place: Place) =>
    who === 'owners' || (who !== 'agents' && random.chance(60)) ? place.apiKey : place.agentKey
  if (kind === 'made') {
    const place = who === 'agents' || random.chance(70) ? own : random.pick([stranger, own])
    return { place, credential: keyOf(place) }
  }
  const caller = random.weighted({ own: 60, stranger: 12, granted: 10, any: 16, none: 2 })
  if (caller === 'none') return { place: own, credential: null }
  if (caller === 'any') return { place: own, credential: on.credentials[random.pick(credentialKinds)] }
  const place = { own, stranger, granted }[caller]
  return { place, credential: random.chance(70) ? keyOf(place) : random.pick([place.apiKey, place.agentKey]) }
}

/** Creates the records for a call and returns their ids. If this fails because of an earlier call, returns live ids. */
async function makeIds(drawing: Drawing, key: OperationKey, place: Place): Promise<Ids> {
  try {
    return await (makers[key] ?? samples[key].make)(drawing.on, place)
  } catch {
    return liveIds(drawing, key)
  }
}

function liveIds({ ids, random, protectedIds }: Drawing, key: OperationKey): Ids {
  const operation: OperationDefinition = catalogue[key]
  const found: Ids = {}
  for (const part of inputParts) {
    for (const [name, schema] of Object.entries(schemaOf(operation, part).properties ?? {})) {
      const prefix = prefixIn(schema)
      if (prefix === undefined) continue
      const id = ids.pick(prefix)
      found[name] = disablingOperations.includes(key) && protectedIds.has(id) ? unknownId : id
    }
  }
  for (const [name, examples] of Object.entries(otherParameters)) found[name] ??= random.pick(examples)
  return found
}

/** A well-formed id that no record has. */
const unknownId = `agt_${'0'.repeat(32)}`

/** Values of path parameters that are not ids. */
const otherParameters: Readonly<Record<string, readonly string[]>> = {
  shopId: ['plain-goods', 'nowhere'],
  name: ['as-it-is', 'unknown'],
  paymentNumber: ['2', '3', '0'],
}

function prefixIn(schema: JsonSchema): string | undefined {
  const patterns = [schema, ...(schema.anyOf ?? [])].map(({ pattern }) => idPrefixOf(pattern))
  return patterns.find((prefix) => prefix !== undefined)?.slice(0, 3)
}

interface DrawnCall {
  operation: OperationDefinition
  sample: Sample
  ids: Ids
  kind: CallKind
}

function attributesOf({ on, random, values }: Drawing, { operation, sample, ids, kind }: DrawnCall) {
  if (operation.attributes === undefined) return undefined
  const usual: Record<string, unknown> = { ...sample.attributes?.(ids, on) }
  if (operation.name === 'set_sandbox_fault') return harmlessRule(usual, random)
  if (kind === 'made') return usual
  const { properties = {} } = schemaOf(operation, 'attributes')
  const drawnFields = Object.entries(properties).filter(
    ([name]) => name !== 'customerPartyId' && random.chance(name in usual ? 30 : 15),
  )
  for (const [name, schema] of drawnFields) usual[name] = values.make(schema)
  if (kind !== 'hostile') return usual
  const name = random.pick([...Object.keys(properties), 'unknown'])
  if (random.chance(30)) delete usual[name]
  else usual[name] = values.hostile()
  return usual
}

/** Draws a fault rule that hits at most three requests. If the rule has an error code, every operation declares it. */
function harmlessRule(rule: Record<string, unknown>, random: Random): object {
  const fault = random.pick([
    'error',
    'slow',
    'hang',
    'reset',
    'effect_then_lost',
    'effect_then_503',
    'stale',
    'empty_page',
  ])
  const code = fault === 'error' ? { code: random.pick(['service_unavailable', 'rate_limited']) } : {}
  const operation = random.chance(50) ? '*' : catalogue[random.pick(operationKeys)].name
  const id = `rule-${random.int(1, 5)}`
  return {
    ...(random.chance(20) ? rule : {}),
    id,
    operation,
    path: undefined,
    fault,
    ...code,
    when: { times: random.int(1, 3) },
  }
}

function customerOf({ on, random }: Drawing, { reach }: Sample): string | undefined {
  if (reach !== 'acting' || !random.chance(25)) return undefined
  return random.pick([on.places.granted, on.places.granted, on.places.ungranted, on.places.stranger]).partyId
}

function queryOf(
  { random, values }: Drawing,
  operation: OperationDefinition,
  usual: Record<string, string>,
): URLSearchParams {
  const { properties = {} } = schemaOf(operation, 'query')
  const drawnFields = Object.entries(properties).filter(
    ([name]) => !['customerPartyId', 'partyId'].includes(name) && random.chance(20),
  )
  const query = new URLSearchParams(usual)
  for (const [name, schema] of drawnFields) {
    // With any other value, the call could wait for a change that never comes.
    if (name === 'waitSeconds') query.set(name, '0')
    else query.set(name, String(random.chance(90) ? values.make(schema) : values.hostile()))
  }
  return query
}
