import { eventsOf, initializeMessage, jsonOf, modernRequest, resultOf } from './hosting.ts'

export interface CrossTalk {
  answered: number
  cancelled: number
  progress: number
  /** Messages that arrived at the wrong host or call, and answers to canceled calls. */
  wrong: string[]
}

type Send = (request: Request) => Promise<Response>

/**
 * Runs hosts of both protocol versions at the same time. All hosts use the same JSON-RPC ids and progress tokens, so
 * only the marker in a message shows which host and call the message belongs to.
 */
export async function crossTalk(send: Send, url: string, hosts: number, callsEach: number): Promise<CrossTalk> {
  const seen: CrossTalk = { answered: 0, cancelled: 0, progress: 0, wrong: [] }
  const all = Array.from({ length: hosts }, async (_, number) => {
    const host = await (number % 2 === 0 ? sessionHost : sessionlessHost)(send, url)
    // Each host has three calls running at a time, and all hosts use the same ids in the same order.
    let id = 0
    const makeCalls = async () => {
      while (id < callsEach) {
        id += 1
        await makeCall(host, id, `host ${number} call ${id}`, seen)
      }
    }
    await Promise.all([makeCalls(), makeCalls(), makeCalls()])
    await host.end()
  })
  await Promise.all(all)
  return seen
}

interface CallingHost {
  call(id: number, name: string, args: object): Promise<Response>
  cancel(id: number): Promise<unknown>
  end(): Promise<unknown>
}

const kinds = ['echo', 'progress', 'echo', 'cancel', 'echo'] as const

async function makeCall(host: CallingHost, id: number, marker: string, seen: CrossTalk): Promise<void> {
  const kind = kinds[id % kinds.length]
  if (kind === 'echo') {
    const message = await jsonOf(await host.call(id, 'echo', { marker }))
    if (message.id !== id || resultOf(message) !== marker) seen.wrong.push(`${marker}: ${JSON.stringify(message)}`)
    seen.answered += 1
    return
  }
  const wait = kind === 'cancel' ? { wait: 'never' } : {}
  const response = await host.call(id, 'progress', { marker, steps: 2, ...wait })
  for await (const { message } of eventsOf(response)) {
    if (message === undefined) continue
    if (message.method !== undefined) {
      seen.progress += 1
      if (message.params.message !== marker) seen.wrong.push(`${marker}: ${JSON.stringify(message)}`)
      if (kind !== 'cancel') continue
      await host.cancel(id)
      seen.cancelled += 1
      break
    }
    if (kind === 'cancel' || message.id !== id || resultOf(message) !== marker) {
      seen.wrong.push(`${marker}: ${JSON.stringify(message)}`)
    }
    seen.answered += 1
  }
}

const baseHeaders = {
  Authorization: 'Bearer token-of-alice',
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}

async function sessionHost(send: Send, url: string): Promise<CallingHost> {
  const post = (body: object, headers: Record<string, string>) =>
    send(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
  const initialized = await post(initializeMessage(), baseHeaders)
  await initialized.text()
  const id = initialized.headers.get('mcp-session-id')
  const headers = { ...baseHeaders, 'Mcp-Session-Id': String(id), 'Mcp-Protocol-Version': '2025-11-25' }
  return {
    call: (id, name, args) => {
      const params = { name, arguments: args, _meta: { progressToken: id } }
      return post({ jsonrpc: '2.0', id, method: 'tools/call', params }, headers)
    },
    cancel: (requestId) => post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, headers),
    end: () => send(new Request(url, { method: 'DELETE', headers })),
  }
}

async function sessionlessHost(send: Send, url: string): Promise<CallingHost> {
  return {
    call: (id, name, args) => {
      const { body, headers } = modernRequest('tools/call', { name, arguments: args }, { _meta: { progressToken: id } })
      const init = { method: 'POST', headers: { ...baseHeaders, ...headers }, body: JSON.stringify({ ...body, id }) }
      return send(new Request(url, init))
    },
    // In MCP 2026, a host cancels a call by closing its stream. `makeCall` does so by leaving the loop over the events.
    cancel: async () => {},
    end: async () => {},
  }
}
