import { z } from 'zod'
import type { OperationDefinition } from '../src/core/operation.ts'
import { catalogue } from '../tools/index.ts'
import { send, whoami } from './growth-world.ts'
import type { Sandbox } from './sandbox.ts'

/** One way to ask for a page: a list with a filter or none, from its beginning or from far within, with one credential. */
export interface Way {
  list: string
  name: string
  path(sandbox: Sandbox, ids: Ids): string
  key(sandbox: Sandbox): string
}

/** What the busy party of a database has, to fill in. */
export interface Ids {
  values: Readonly<Record<string, string>>
  /** The cursor of each way that begins far within its list, by its address without it. */
  cursors: Map<string, string>
}

/** A small database has as many of everything, so that pages are alike. */
const pageLength = 10

const credentials = { 'an API key': ({ apiKey }: Sandbox) => apiKey, 'an agent': ({ key }: Sandbox) => key }

/** Every list with every value of its filters, by each credential. */
export function listWays(): Way[] {
  const lists = Object.values(catalogue as Record<string, OperationDefinition>).filter(
    ({ result }) => result === 'page',
  )
  return lists.flatMap((operation) =>
    Object.entries(credentials).flatMap(([credential, key]) => waysOf(operation, credential, key)),
  )
}

function waysOf({ name, path, query }: OperationDefinition, credential: string, key: Way['key']): Way[] {
  const filled = (ids: Ids) => path.replace(/\{(\w+)\}/g, (_, id: string) => ids.values[id] ?? id)
  const way = (what: string, search: (ids: Ids) => string): Way => ({
    list: name,
    name: `${what}, ${credential}`,
    path: (_sandbox, ids) => `${filled(ids)}?limit=${pageLength}&${search(ids)}`,
    key,
  })
  const ways = [way('all', () => '')]
  ways.push({
    ...way('from far within', () => ''),
    path: (_sandbox, ids) =>
      `${filled(ids)}?limit=${pageLength}&cursor=${ids.cursors.get(`${credential} ${filled(ids)}`)}`,
  })
  for (const [filter, schema] of Object.entries(query?.shape ?? {})) {
    if (['limit', 'cursor', 'partyId', 'customerPartyId'].includes(filter)) continue
    for (const value of valuesOf(schema as z.ZodType) ?? ['']) {
      ways.push(way(`${filter} ${value}`.trim(), ({ values }) => `${filter}=${value || (values[filter] ?? 'none')}`))
    }
  }
  return ways
}

/** The values of a filter that has few; undefined for all others. */
function valuesOf(schema: z.ZodType): string[] | undefined {
  const { enum: values, type } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  if (type === 'boolean') return ['true', 'false']
  return values?.map(String)
}

/** Looks the busy party's records up, and how a cursor far within each of its lists looks. */
export async function idsOf(sandbox: Sandbox): Promise<Ids> {
  const { partyId, agentId } = await whoami(sandbox)
  const first = async (path: string) => (await send(sandbox, 'GET', path, undefined, sandbox.apiKey)).data.at(-1)?.id
  const cardId = await first('/agent-cards')
  const values = {
    agentId,
    cardId,
    resourceId: cardId,
    instanceId: 'no such run',
    customerEmail: 'somebody@sandbox.example',
    status: 'PENDING',
    walletId: await first('/wallets?limit=100'),
    subscriptionId: await first('/subscriptions'),
    counterpartyPartyId: await first('/customers'),
  }
  const ids: Ids = { values, cursors: new Map() }
  const within = await sandbox.store.transaction(({ db }) =>
    db
      .selectFrom('activity')
      .select(['id', 'agentId'])
      .where('partyId', '=', partyId)
      .where('agentId', 'is not', null)
      .orderBy('sequence')
      .limit(1)
      .offset(200)
      .executeTakeFirstOrThrow(),
  )
  for (const way of listWays().filter(({ name }) => name.startsWith('from far within'))) {
    const [path = ''] = way.path(sandbox, ids).split('?')
    const response = await sandbox.service.fetch(sandbox.request('GET', `${path}?limit=1`, undefined, way.key(sandbox)))
    const cursor = ((await response.json()) as { meta?: { pagination?: { nextCursor: string | null } } }).meta
      ?.pagination?.nextCursor
    if (!cursor) continue
    const [mark, id = ''] = Buffer.from(cursor.slice('cur_'.length), 'base64url').toString().split(' ')
    const far = id.startsWith('act_') ? within.id : `${id.slice(0, 4)}${within.id.slice(4)}`
    ids.cursors.set(`${way.name.split(', ')[1]} ${path}`, `cur_${Buffer.from(`${mark} ${far}`).toString('base64url')}`)
  }
  return ids
}
