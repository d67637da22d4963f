import { expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { transportOver } from '../../src/client/send.ts'
import type { ApiRequest } from '../../src/core/api-transport.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

const card = { merchant: { name: 'Books & more' }, maximumAmount: 100, currency: 'USD' } as const
const api = 'http://api.example'

onEachDatabase("a client in the service's process", (database) => {
  it('gets the same answers as over HTTP, and one idempotency key works across both', async () => {
    const { service, system, agentKey, drop } = await createWorld(database)
    const fetch = (request: Request) => service.fetch(request)
    const options = { fetch, baseUrl: api, credential: () => agentKey, instanceId: 'run-1', system }
    const { operations: carried } = createClient({ ...options, carry: service.carry() })
    const { operations: fetched } = createClient(options)
    const key = { idempotencyKey: 'one key over two transports' }
    const first = await carried.issueAgentCard(card, key)
    const second = await fetched.issueAgentCard(card, key)
    expect([first.replayed, second.replayed]).toEqual([false, true])
    expect(second.data).toEqual(first.data)
    await carried.issueAgentCard(card)
    const page = await carried.listAgentCards({ limit: 1 })
    expect(page.data).toHaveLength(1)
    expect(page).toEqual(await fetched.listAgentCards({ limit: 1 }))
    await drop()
  })

  it('learns whether the wallet covers a card, unlike a client over HTTP', async () => {
    const { service, system, agentKey, drop } = await createWorld(database)
    const fetch = (request: Request) => service.fetch(request)
    const options = { fetch, baseUrl: api, credential: () => agentKey, instanceId: 'run-1', system }
    const { operations: carried } = createClient({ ...options, carry: service.carry() })
    const { operations: fetched } = createClient(options)
    const { data: wallets } = await carried.listWallets({})
    const available = wallets[0]?.attributes.balance?.available ?? 0
    expect(available).toBeGreaterThan(0)
    const [all, more] = [
      { ...card, maximumAmount: available },
      { ...card, maximumAmount: available + 1 },
    ]
    const issueBoth = async (
      issue: typeof carried.issueAgentCard,
      attributes: typeof card | typeof all,
      key?: string,
    ) => (await issue(attributes, { idempotencyKey: key })).isCovered
    expect(await issueBoth(carried.issueAgentCard, all, 'one key')).toBe(true)
    expect(await issueBoth(carried.issueAgentCard, more)).toBe(false)
    expect(await issueBoth(fetched.issueAgentCard, all)).toBeUndefined()
    // A recorded answer says nothing about the current balance.
    expect(await issueBoth(carried.issueAgentCard, all, 'one key')).toBeUndefined()
    await drop()
  })

  it('gets the same refusals as over HTTP', async () => {
    const { service, agentKey, drop } = await createWorld(database)
    const headers = { Authorization: `Bearer ${agentKey}`, 'Idempotency-Key': 'one key', 'X-Instance-ID': 'run-1' }
    const issue = { operation: 'issue_agent_card', method: 'POST', path: '/agent-cards', params: {}, headers }
    const missing = { cardId: `pcd_${'0'.repeat(32)}` }
    const path = `/agent-cards/${missing.cardId}`
    const requests: Record<string, ApiRequest> = {
      'a body that is too large': { ...issue, body: JSON.stringify({ data: 'x'.repeat(1024 * 1024) }) },
      'no credential': { ...issue, headers: {}, body: '{}' },
      'no such resource': {
        ...issue,
        operation: 'get_agent_card',
        method: 'GET',
        path,
        params: missing,
        body: undefined,
      },
      'no such operation': { ...issue, operation: 'fly', path: '/fly', body: '{}' },
    }
    const doors = [service.carry(), transportOver((request) => service.fetch(request), api)]
    for (const [what, request] of Object.entries(requests)) {
      const [carried, fetched] = await Promise.all(doors.map((carry) => carry(request, new AbortController().signal)))
      expect(comparableParts(carried), what).toEqual(comparableParts(fetched))
      expect(carried?.status, what).toBeGreaterThanOrEqual(400)
    }
    await drop()
  })
})

/** Returns the parts of an answer to compare, without the request id, which differs for each request. */
function comparableParts(answer: { status: number; headers: Pick<Headers, 'get'>; body: string } | undefined) {
  const named = String(answer?.headers.get('x-request-id'))
  return [answer?.status, answer?.headers.get('www-authenticate'), answer?.body.replaceAll(named, 'its id')]
}
