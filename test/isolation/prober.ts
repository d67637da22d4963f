import type { OperationDefinition } from '../../src/core/operation.ts'
import { readAllRows } from '../ledger/books.ts'
import type { TestDatabase } from '../support/databases.ts'
import { relationshipsFor } from '../support/relationships.ts'
import type { Answer } from '../support/world.ts'
import type { Cell } from './cells.ts'
import { type Ids, missing } from './makers.ts'
import { type Grounds, grounds, type Place, type PlaceName } from './places.ts'
import type { Target } from './rules.ts'
import { permittedStatus, type Sample, samples } from './samples.ts'

/**
 * Sends requests and checks the answers. The methods `cell`, `cursor` and `replay` return a message for every wrong
 * answer.
 */
export interface Prober {
  on: Grounds
  cell(cell: Cell): Promise<string[]>
  cursor(cell: Cell): Promise<string[]>
  replay(cell: Cell): Promise<string[]>
  strangersRowsBefore: string[]
  strangersRows(): Promise<string[]>
}

export interface ProbeRequest {
  /** The credential; `null` sends none. */
  key: string | null
  ids: Ids
  /** The id of the party that the request names as the customer to act for. */
  acting?: string | undefined
  /** The parameter that names the customer to act for; by default `customerPartyId`. Reads accept both parameters. */
  customerParameter?: 'customerPartyId' | 'partyId'
  query?: Record<string, string>
  idempotencyKey?: string
  headers?: Record<string, string>
}

/**
 * For each target, the party that the request names as the customer to act for. With other targets, the request names
 * no customer.
 */
const namedCustomers: Partial<Record<Target, PlaceName>> = {
  granted: 'granted',
  ungranted: 'ungranted',
  'own, naming a customer': 'granted',
  'stranger, named': 'stranger',
  'granted, by partyId': 'granted',
  'stranger, by partyId': 'stranger',
}

const placeOf = (target: Target): PlaceName => {
  const [name = 'own'] = target.split(', ')
  return name as PlaceName
}

export async function prober(database: TestDatabase): Promise<Prober> {
  const on = await grounds(database)
  const { world, places, credentials } = on
  const shared = await sharedTargets(on)

  const ask = (operation: OperationDefinition, sample: Sample, request: ProbeRequest) =>
    send(on, operation, sample, request)
  const describe = ({ operation, credential, target, filter }: Cell) =>
    `${operation.name}, ${credential}, ${target}${filter === undefined ? '' : ` by ${filter}`}`

  const probeCell: Prober['cell'] = async (cell) => {
    const { operation, sample, credential, target, filter, expected } = cell
    const place = placeOf(target)
    const acting = sample.reach === 'acting' && filter === undefined ? namedCustomers[target] : undefined
    const needsNewSample = operation.effect !== 'read' && expected < 300
    const ids = needsNewSample ? await sample.make(on, places[place]) : (shared[place].get(sample) ?? {})
    const query = filter === undefined ? {} : { [filter]: ids[filter] ?? '' }
    const customerParameter = target.endsWith('by partyId') ? 'partyId' : 'customerPartyId'
    const request: ProbeRequest = {
      key: credentials[credential],
      ids,
      query,
      customerParameter,
      acting: acting && places[acting].partyId,
    }
    const answer = await ask(operation, sample, request)
    const wrong: string[] = []
    if (answer.status !== expected) wrong.push(`expected ${expected}, got ${answer.status} ${answer.text}`)
    if (operation.result === 'page' && answer.status === 200) {
      wrong.push(...findForeign(answer, operation, sample, target), ...findAbsent(answer, sample, target, filter, ids))
    }
    if (target !== 'own' && (filter !== undefined || expected === 404 || expected === 403)) {
      // The answer is compared with the answer to a request for missing records. The caller may learn that a customer
      // exists and what the customer granted, but not that a stranger exists. Therefore, the compared request names a
      // missing customer only if the first request names the stranger.
      const unknown = missing(on, { ...ids, acting: request.acting ?? '' })
      const actingId = request.acting && places[place].name === 'stranger' ? unknown.acting : request.acting
      const narrowed = filter === undefined ? query : { [filter]: unknown[filter] ?? '' }
      const compared = await ask(operation, sample, { ...request, ids: unknown, acting: actingId, query: narrowed })
      if (maskIds(answer) !== maskIds(compared)) {
        wrong.push(`the answer is ${maskIds(answer)}, but for a missing record ${maskIds(compared)}`)
      }
    }
    return wrong.map((what) => `${describe(cell)}: ${what}`)
  }

  /**
   * Returns a message for each foreign id in a list, that is, an id of another party. The caller's activity may contain
   * ids of the customer `granted`, because it includes the actions of the caller's agent for that customer.
   */
  const findForeign = (answer: Answer, operation: OperationDefinition, sample: Sample, target: Target): string[] => {
    const mine = target.startsWith('granted') && sample.reach === 'acting' ? 'granted' : 'own'
    const others = (Object.keys(places) as PlaceName[]).filter((name) => name !== mine)
    const customers = new Set(others.filter((name) => name !== 'stranger').flatMap((name) => customersAt(name)))
    const foreign = others
      .filter((name) => !(operation.name === 'list_activity' && name === 'granted'))
      .flatMap((name) => [
        ...[...shared[name].values()].flatMap((ids) => Object.entries(ids)),
        ['walletId', places[name].walletId] as const,
        ...(name === 'stranger' ? [['partyId', places[name].partyId] as const] : []),
      ])
      // A party may see the ids of its customers, and of agents.
      .filter(([kind, id]) => !['customerId', 'agentId'].includes(kind) && !customers.has(id) && id.includes('_'))
    return foreign.filter(([, id]) => answer.text.includes(id)).map(([kind, id]) => `shows a foreign ${kind} ${id}`)
  }

  const customersAt = (name: PlaceName) =>
    [...shared[name].values()].flatMap(({ customerId, partyId }) =>
      [customerId, partyId].filter((id) => id !== undefined),
    )

  const findAbsent = (answer: Answer, sample: Sample, target: Target, filter: string | undefined, ids: Ids) => {
    if (filter !== undefined) return answer.json.data.length === 0 ? [] : ['a filter by a foreign id finds records']
    if (target !== 'own' && !target.startsWith('granted')) return []
    const shown = sample.shown ?? Object.keys(ids)
    return shown.filter((name) => !answer.text.includes(ids[name] ?? '')).map((name) => `does not show ${name}`)
  }

  const probeCursor: Prober['cursor'] = async (cell) => {
    const { operation, sample, credential, expected } = cell
    const { agentId, walletId, apiKey } = places.stranger
    const theirs = await ask(operation, sample, {
      key: apiKey,
      ids: { agentId, walletId, ...shared.stranger.get(sample) },
      query: { limit: '1' },
    })
    const { nextCursor } = theirs.json.meta.pagination
    if (nextCursor === null) return [`${describe(cell)}: the stranger's list has only one page`]
    const ids = { agentId: places.own.agentId, walletId: places.own.walletId, ...shared.own.get(sample) }
    const to = { key: credentials[credential], ids }
    const answer = await ask(operation, sample, { ...to, query: { cursor: nextCursor } })
    const madeUp = `cur_${Buffer.from(`000000000000 ${theirs.json.data[0].id}`).toString('base64url')}`
    const compared = await ask(operation, sample, { ...to, query: { cursor: madeUp } })
    const wrong = answer.status === expected ? [] : [`a foreign cursor: expected ${expected}, got ${answer.text}`]
    if (maskIds(answer) !== maskIds(compared)) wrong.push('a foreign cursor is not answered like a made-up one')
    return wrong.map((what) => `${describe(cell)}: ${what}`)
  }

  let replays = 0
  const probeReplay: Prober['replay'] = async (cell) => {
    const { operation, sample, credential, target, expected } = cell
    const { stranger } = places
    const idempotencyKey = `shared key ${replays++}`
    const ids = await sample.make(on, stranger)
    // Both requests must have the same body, so the unused email addresses in it are generated only once.
    const attributes = sample.attributes?.(ids, on)
    const same: Sample = attributes === undefined ? sample : { ...sample, attributes: () => attributes }
    const key = sample.who === 'agents' ? stranger.agentKey : stranger.apiKey
    const theirs = await ask(operation, same, { key, ids, idempotencyKey })
    if (theirs.status !== permittedStatus(operation, sample))
      return [`${describe(cell)}: the stranger itself got ${theirs.text}`]
    const answer = await ask(operation, same, { key: credentials[credential], ids, idempotencyKey })
    const wrong = answer.status === expected ? [] : [`expected ${expected}, got ${answer.status} ${answer.text}`]
    if (answer.headers.get('x-idempotency-replayed') !== null) wrong.push('the answer is marked as a replay')
    if (target === 'stranger' && expected >= 400) {
      const compared = await ask(operation, sample, { key: credentials[credential], ids: missing(on, ids) })
      if (maskIds(answer) !== maskIds(compared))
        wrong.push(`${answer.text} differs from the answer for a missing record`)
    } else if (answer.status < 300 && [answer.json.data].flat()[0].id === [theirs.json.data].flat()[0].id) {
      wrong.push("the answer has the id of the stranger's record")
    }
    return wrong.map((what) => `${describe(cell)}, with the stranger's idempotency key: ${what}`)
  }

  /**
   * Returns every database row that contains the stranger's id, except rows of snapshots and runs. Columns with times
   * of last use are left out.
   */
  const strangersRows = async () =>
    (await readAllRows(world.store))
      .filter((row) => !('snapshotId' in row || 'runId' in row || 'lastEntryId' in row))
      .map((row) => JSON.stringify(row, (name, value) => (volatile.includes(name) ? undefined : value)))
      .filter((row) => row.includes(places.stranger.partyId))
      .sort()
  const volatile = ['lastUsedAtMs', 'lastActiveAtMs']
  const probes = { cell: probeCell, cursor: probeCursor, replay: probeReplay }
  return { on, ...probes, strangersRows, strangersRowsBefore: await strangersRows() }
}

/**
 * Creates a resource for each sample and place. Requests that only read or that are refused share these resources,
 * because only a bug would change them. For each sample without filters, the stranger gets two resources, so that its
 * lists have a second page.
 */
async function sharedTargets(on: Grounds): Promise<Record<PlaceName, Map<Sample, Ids>>> {
  const all = {} as Record<PlaceName, Map<Sample, Ids>>
  for (const place of Object.values(on.places) as Place[]) {
    all[place.name] = new Map()
    for (const sample of Object.values(samples)) {
      if (place.name === 'stranger' && sample.filters === undefined) await sample.make(on, place)
      all[place.name].set(sample, await sample.make(on, place))
    }
  }
  return all
}

/** Sends a sample request with the ids in its path and relationships, and with the customer to act for, if any. */
export async function send(
  { world, ...on }: Grounds,
  operation: OperationDefinition,
  sample: Sample,
  request: ProbeRequest,
) {
  const { key, ids, acting, idempotencyKey, customerParameter = 'customerPartyId' } = request
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? sample.named?.[name] ?? '')
  const customer = acting === undefined ? {} : { [customerParameter]: acting }
  const attributes = operation.attributes && { ...sample.attributes?.(ids, { world, ...on }) }
  const inBody = operation.attributes?.shape.customerPartyId !== undefined
  const query = new URLSearchParams({ ...sample.query, ...request.query, ...(inBody ? {} : customer) })
  const relationships = relationshipsFor(operation, ids)
  const body = attributes && { attributes: { ...attributes, ...(inBody ? customer : {}) }, relationships }
  return world.send(operation.method, query.size === 0 ? path : `${path}?${query}`, {
    key,
    ...(request.headers === undefined ? {} : { headers: request.headers }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(body === undefined ? {} : { body: JSON.stringify({ data: body }) }),
  })
}

/**
 * Returns an answer as a string in which each id is reduced to its prefix. With full ids, compared answers would
 * differ: their requests contain different ids, and every error has its own support id.
 */
function maskIds({ status, json }: Answer): string {
  return `${status} ${JSON.stringify(json).replaceAll(/\b([a-z]{3})_[0-9a-f]{32}\b/g, '$1')}`
}
