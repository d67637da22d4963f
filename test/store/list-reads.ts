import { z } from 'zod'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { addGrant } from '../isolation/places.ts'
import type { TestDatabase } from '../support/databases.ts'
import { addDelegation, addParty, addUserToken, createWorld, type World } from '../support/world.ts'

/** A party that has records and a customer, and the credentials of all callers who may list the party's records. */
export interface Site {
  world: World
  /** The secret of each credential, and the query parameters of every list request with that credential. */
  callers: Record<string, { key: string; query: Record<string, string> }>
  /** The values of path parameters and filters, by name. */
  values: Record<string, string>
}

export async function createSite(database: TestDatabase): Promise<Site> {
  const world = await createWorld(database)
  const { partyId, agentId } = await world.whoami()
  const customer = await addParty(world)
  const grant = { customerPartyId: customer.partyId, agentPartyId: partyId, agentId: agentId ?? '' }
  await addDelegation(world, grant)
  const cardId = await world.issueCard()
  await world.issueCard()
  for (const amount of [100, 200]) await world.authorize(cardId, amount)
  const wallets = await world.get('/wallets')
  const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
  const subscription = await world.post('/subscriptions', terms)
  const counterparty = { type: 'party_id', value: customer.partyId }
  for (const amount of [1, 2]) await world.post('/payments', { amount, currency: 'USD', counterparty })
  const url = 'https://hooks.example.com/'
  const webhook = await world.post('/webhooks', { url, enabledEvents: ['*'] }, { key: world.apiKey })
  const { userId, token } = await addUserToken(world, partyId)
  const scopes = ['cards:agent', 'payments:read', 'customers:read', 'account:read']
  const agentGrant = await addGrant(world, { partyId, userId, agentId, scopes })
  const query = {}
  return {
    world,
    callers: {
      'party key': { key: world.apiKey, query },
      'user token': { key: token, query },
      'agent key': { key: world.agentKey, query },
      'agent grant': { key: agentGrant.token, query },
      'agent for a customer': { key: world.agentKey, query: { customerPartyId: customer.partyId } },
    },
    values: {
      agentId: agentId ?? '',
      cardId,
      counterpartyPartyId: customer.partyId,
      createdAfter: '2020-01-01T00:00:00Z',
      createdBefore: '2100-01-01T00:00:00Z',
      customerEmail: 'somebody@example.com',
      email: 'somebody@example.com',
      eventType: 'payment.created',
      instanceId: 'run 1',
      resourceId: cardId,
      subscriptionId: subscription.json.data.id,
      to: 'somebody@example.com',
      webhookId: webhook.json.data.id,
      walletId: wallets.json.data[0].id,
    },
  }
}

export const lists = Object.values<OperationDefinition>(catalogue).filter(({ result }) => result === 'page')

/**
 * Returns paths of requests for a list: without filters, with each value of each filter, and with each pair of values
 * of two filters. Each path includes `callerQuery`. Returns no paths if the list does not accept that query.
 * @throws Error if `values` has no value for a filter.
 */
export function pathsOf(list: OperationDefinition, { values }: Site, callerQuery: Record<string, string>): string[] {
  const path = list.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => valueFor(values, name))
  const filters = Object.entries(list.query?.shape ?? {}).filter(([name]) => !common.has(name))
  const choices = filters.map(([name, schema]) => {
    const enumValues = enumValuesOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
    return (enumValues.length > 0 ? enumValues : [valueFor(values, name)]).map((value) => [name, value] as const)
  })
  const pairs = choices.flatMap((one, index) =>
    choices.slice(index + 1).flatMap((two) => one.flatMap((a) => two.map((b) => [a, b]))),
  )
  const combinations = [[], ...choices.flat().map((one) => [one]), ...pairs]
  if (Object.keys(callerQuery).length > 0 && list.query?.shape.customerPartyId === undefined) return []
  return combinations.map((combination) => {
    const query = { ...Object.fromEntries(combination), ...callerQuery, limit: '1' }
    return `${path}?${new URLSearchParams(query)}`
  })
}

/** Parameters that are not filters: they select the page or the party. */
const common = new Set(['limit', 'cursor', 'customerPartyId', 'partyId'])

function valueFor(values: Record<string, string>, name: string): string {
  const value = values[name]
  if (value === undefined) throw new Error(`Add a value for ${name} to the "values" in createSite.`)
  return value
}

function enumValuesOf(schema: unknown): string[] {
  const { enum: values, anyOf } = schema as { enum?: string[]; anyOf?: unknown[] }
  return values ?? anyOf?.flatMap(enumValuesOf) ?? []
}
