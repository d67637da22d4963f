import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'
import { PassThrough, type Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { bridgeOverStdio } from '../../src/mcp/bridge/bridge.ts'
import { startHttpServer } from '../client/http-server.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

export const key = 'ak_ntl_sandbox_the-key-of-this-bridge'

// biome-ignore lint/suspicious/noExplicitAny: messages of a hostile endpoint have no type.
type Message = any

export interface Bridge {
  system: FakeSystem
  /** All log output. */
  logged: string[]
  /** All messages that the host read, in order. */
  messages: Message[]
  /** Sends a message through the bridge without waiting for an answer. */
  notify(message: object): void
  /** Sends a request through the bridge and returns its answer. */
  ask(method: string, params?: object): Promise<Message>
}

/** Starts an HTTP server that runs until the end of the test. Returns the address of its MCP endpoint. */
export async function startEndpoint(answer: RequestListener): Promise<string> {
  const { address, close } = await startHttpServer(answer)
  onTestFinished(close)
  return `${address}/mcp`
}

/**
 * Starts a bridge to `url`, and a host that reads the bridge's output. If a test passes `stdout`, the output goes there
 * instead, so the host gets no messages and `ask` never resolves.
 */
export async function startBridge(url: string, stdout?: Writable): Promise<Bridge> {
  const system = fakeSystem()
  const stdin = new PassThrough()
  const lines = new PassThrough()
  const logged: string[] = []
  const record = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { info: record, warn: record, error: record }
  await bridgeOverStdio({ url: new URL(url), key, log, system, stdin, stdout: stdout ?? lines })
  onTestFinished(async () => {
    const ended = once(stdin, 'close')
    stdin.destroy()
    await ended
  })
  const messages: Message[] = []
  const waiting = new Map<unknown, (message: Message) => void>()
  createInterface({ input: lines }).on('line', (line) => {
    const message = JSON.parse(line)
    messages.push(message)
    waiting.get(message.id)?.(message)
  })
  let requestCount = 0
  const notify = (message: object) => void stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const ask = (method: string, params: object = {}) => {
    const id = ++requestCount
    const answered = new Promise<Message>((resolve) => waiting.set(id, resolve))
    notify({ id, method, params })
    return answered
  }
  return { system, logged, messages, notify, ask }
}

/** Returns the JSON-RPC message in a request's body; `undefined` if the body is empty. */
export async function messageOf(request: IncomingMessage): Promise<Message> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text === '' ? undefined : JSON.parse(text)
}

export const stream = { 'Content-Type': 'text/event-stream' }
export const json = { 'Content-Type': 'application/json' }

export function event(message: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

/**
 * Sends `part` repeatedly, as fast as the other side reads, until the other side closes the connection or `maxBytes`
 * are sent. Returns the number of bytes sent.
 */
export async function sendEndlessly(response: ServerResponse, part: string, maxBytes: number): Promise<number> {
  let sent = 0
  const closed = once(response, 'close')
  while (sent < maxBytes && !response.destroyed) {
    sent += part.length
    if (!response.write(part)) await Promise.race([once(response, 'drain'), closed])
  }
  response.end()
  await closed
  return sent
}
