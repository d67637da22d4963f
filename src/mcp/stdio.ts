import type { Readable, Writable } from 'node:stream'
import {
  type JSONRPCMessage,
  ReadBuffer,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server'
import { type StdioServerHandle, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Log } from '../client/client.ts'
import type { System } from '../core/system.ts'
import { createLineReader } from './lines.ts'
import { type ListenAwareServer, listenedAddresses } from './listen-request.ts'

interface StdioOptions {
  /**
   * Creates the server of the connection. Called again if the host first probes for MCP 2026 and then falls back to MCP
   * 2025. `cut` cancels a request, so that the host never gets an answer to it.
   */
  createServer: (cut: (id: RequestId) => void) => ListenAwareServer
  /** Called once, when the connection has closed. Closes everything that keeps the process alive. */
  onClose: () => void | Promise<void>
  log: Log
  system: Pick<System, 'sleep'>
  stdin: Readable
  stdout: Writable
}

interface LineOptions extends Pick<StdioOptions, 'stdin' | 'stdout' | 'system'> {
  /** Receives each `subscriptions/listen` message. */
  onListen(message: JSONRPCMessage): void
}

interface LineTransport extends Transport {
  cut(id: RequestId): void
}

/** How long to wait for unanswered requests after stdin ends. Hosts kill the process soon after they close stdin. */
const drainMs = 5_000

/** Serves one MCP connection over stdio, with MCP 2025 or MCP 2026. Calls `onClose` when the connection has closed. */
export function serveOverStdio({ createServer, onClose, log, system, stdin, stdout }: StdioOptions): StdioServerHandle {
  const onerror = (error: Error) => log.warn({ err: error }, 'stdio')
  let server: ListenAwareServer | undefined
  // The SDK answers `subscriptions/listen` itself, without passing it to the server.
  const onListen = (message: JSONRPCMessage) => server?.onListen?.(listenedAddresses(message))
  const transport = lineTransport({ stdin, stdout, system, onListen })
  const create = () => {
    server = createServer((id) => transport.cut(id))
    return server
  }
  const handle = serveStdio(create, { transport, onerror })
  // `serveStdio` has set a handler that closes the server. The new handler calls that handler first.
  const closeServer = transport.onclose
  transport.onclose = async () => {
    closeServer?.()
    try {
      await onClose()
    } catch (error) {
      log.error({ err: error }, 'closing failed')
    }
  }
  return handle
}

/**
 * Creates a transport of newline-delimited JSON over two streams. When its input ends, it waits for the running calls.
 * The SDK's own transport drops them, so a host that still reads the output would not get the answer to a purchase.
 */
export function lineTransport({ stdin, stdout, system, onListen }: LineOptions): LineTransport {
  const unanswered = unansweredRequests()
  let ending = false
  let closed = false
  const close = () => {
    if (closed) return
    closed = true
    stdin.off('data', read)
    stdin.pause()
    transport.onclose?.()
  }
  const onFailure = (error: unknown) => {
    if (!closed) transport.onerror?.(error instanceof Error ? error : new Error(String(error)))
  }
  const write = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const hasRoom = stdout.write(text, (error) => (error ? reject(error) : resolve()))
      if (hasRoom || stdin.isPaused()) return
      // Reads no more requests until the host has read the answers to earlier ones.
      stdin.pause()
      stdout.once('drain', () => {
        if (!closed) stdin.resume()
      })
    })
  const read = createLineReader(longestLineBytes, {
    received: messageReader((message) => {
      unanswered.received(message)
      transport.onmessage?.(message)
      if ('method' in message && message.method === 'subscriptions/listen') onListen(message)
    }, onFailure),
    tooLong: () => {
      onFailure(new Error(tooLongAnswer.error.message))
      write(`${JSON.stringify(tooLongAnswer)}\n`).catch(onFailure)
    },
  })
  const end = async () => {
    if (ending) return
    ending = true
    const timer = new AbortController()
    await Promise.race([unanswered.none(), system.sleep(drainMs, timer.signal)])
    timer.abort()
    close()
  }
  const transport: LineTransport = {
    cut: (id) => {
      // Acts as if the host had canceled the request, so that the SDK sends no answer.
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } } as const
      unanswered.received(cancelled)
      transport.onmessage?.(cancelled)
    },
    start: async () => {
      stdin.on('data', read).on('error', onFailure).once('end', end).once('close', end)
      // `close` keeps this listener, because a late write to a host that has exited must not crash the process.
      stdout.on('error', (error) => {
        onFailure(error)
        close()
      })
    },
    send: async (message) => {
      if (closed) throw new Error('The connection is closed')
      await write(serializeMessage(message))
      unanswered.sent(message)
    },
    close: async () => close(),
  }
  return transport
}

/**
 * The maximum length of a line. No legitimate message is longer. Parsing a line takes several times as much memory as
 * the line itself.
 */
const longestLineBytes = 10 * 1024 * 1024

/**
 * The answer to a line that is too long. Its id is null, because the request's id was not read (JSON-RPC 2.0,
 * section 5).
 */
const tooLongAnswer = {
  jsonrpc: '2.0',
  id: null,
  error: {
    code: -32600,
    message: `The message is too long: a line may have at most ${longestLineBytes} bytes. The request was not carried out.`,
  },
}

/** Returns a function that parses a line as a message. An invalid line is reported and skipped. */
function messageReader(received: (message: JSONRPCMessage) => void, failed: (error: unknown) => void) {
  const buffer = new ReadBuffer()
  return (line: Buffer) => {
    try {
      buffer.append(line)
      const message = buffer.readMessage()
      if (message !== null) received(message)
    } catch (error) {
      failed(error)
    }
  }
}

function unansweredRequests() {
  const running = new Set<unknown>()
  const waiting: (() => void)[] = []
  const settle = (id: unknown) => {
    running.delete(id)
    if (running.size === 0) for (const resolve of waiting.splice(0)) resolve()
  }
  return {
    received(message: JSONRPCMessage) {
      if (!('method' in message)) return
      if ('id' in message) running.add(message.id)
      // A canceled request never gets an answer.
      if (message.method === 'notifications/cancelled') settle(message.params?.requestId)
    },
    sent(message: JSONRPCMessage) {
      if (!('method' in message)) settle(message.id)
    },
    /** Resolves once every received request has been answered or canceled. */
    none: async () => {
      if (running.size > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
