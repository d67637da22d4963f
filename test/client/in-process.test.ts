import { expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { transportOver } from '../../src/client/send.ts'
import type { ApiRequest } from '../../src/core/api-transport.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

const card = { merchant: { name: 'Books & more' }, maximumAmount: 100, currency: 'USD' } as const
const api = 'http://api.example'

onEachDatabase("a client in the service's process", (database) => {
  it('an in-process call and an HTTP call return the same data; with the same key, one replays the other', async () => {
    const { service, system, agentKey, drop } = await createWorld(database)
    const fetch = (request: Request) => service.fetch(request)
    const options = { fetch, baseUrl: api, credential: () => agentKey, instanceId: 'run-1', system }
    const { operations: inProcess } = createClient({ ...options, carry: service.carry() })
    const { operations: overHttp } = createClient(options)
    const key = { idempotencyKey: 'one key over two transports' }
    const first = await inProcess.issueAgentCard(card, key)
    const second = await overHttp.issueAgentCard(card, key)
    expect([first.replayed, second.replayed]).toEqual([false, true])
    expect(second.data).toEqual(first.data)
    await inProcess.issueAgentCard(card)
    const page = await inProcess.listAgentCards({ limit: 1 })
    expect(page.data).toHaveLength(1)
    expect(page).toEqual(await overHttp.listAgentCards({ limit: 1 }))
    await drop()
  })

  it('an in-process client learns whether the wallet covers a card; an HTTP client does not', async () => {
    const { service, system, agentKey, drop } = await createWorld(database)
    const fetch = (request: Request) => service.fetch(request)
    const options = { fetch, baseUrl: api, credential: () => agentKey, instanceId: 'run-1', system }
    const { operations: inProcess } = createClient({ ...options, carry: service.carry() })
    const { operations: overHttp } = createClient(options)
    const { data: wallets } = await inProcess.listWallets({})
    const available = wallets[0]?.attributes.balance?.available ?? 0
    expect(available).toBeGreaterThan(0)
    const [all, more] = [
      { ...card, maximumAmount: available },
      { ...card, maximumAmount: available + 1 },
    ]
    const issueAndCheckCover = async (
      issue: typeof inProcess.issueAgentCard,
      attributes: typeof card | typeof all,
      key?: string,
    ) => (await issue(attributes, { idempotencyKey: key })).isCovered
    expect(await issueAndCheckCover(inProcess.issueAgentCard, all, 'one key')).toBe(true)
    expect(await issueAndCheckCover(inProcess.issueAgentCard, more)).toBe(false)
    expect(await issueAndCheckCover(overHttp.issueAgentCard, all)).toBeUndefined()
    // The answer to a replayed call does not say whether the wallet covers the card.
    expect(await issueAndCheckCover(inProcess.issueAgentCard, all, 'one key')).toBeUndefined()
    await drop()
  })

  it('an in-process request gets the same error answer as an HTTP request', async () => {
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
    const transports = [service.carry(), transportOver((request) => service.fetch(request), api)]
    for (const [name, request] of Object.entries(requests)) {
      const [inProcess, overHttp] = await Promise.all(
        transports.map((send) => send(request, new AbortController().signal)),
      )
      expect(comparableParts(inProcess), name).toEqual(comparableParts(overHttp))
      expect(inProcess?.status, name).toBeGreaterThanOrEqual(400)
    }
    await drop()
  })
})

/**
 * Returns the parts of an answer that must be the same over both transports. Masks the request id, which always
 * differs.
 */
function comparableParts(answer: { status: number; headers: Pick<Headers, 'get'>; body: string } | undefined) {
  const requestId = String(answer?.headers.get('x-request-id'))
  return [answer?.status, answer?.headers.get('www-authenticate'), answer?.body.replaceAll(requestId, 'request id')]
}
