import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Failure } from '../core/errors.ts'
import { equalSecrets, type System } from '../core/system.ts'
import { smallPage } from '../display/small-page.ts'

interface Callback {
  /** The redirect address, on a loopback port. */
  address: string
  /**
   * Waits for the browser's request to the redirect address, and passes the URL of the request to `finish`. Shows in
   * the browser whether `finish` succeeded. If `finish` throws, rethrows the error.
   */
  receiveAnswer(finish: (answer: URL) => Promise<void>): Promise<void>
  close(): Promise<void>
}

const longestWaitMs = 5 * 60_000

/** Listens for the first request to the redirect address with this `state` parameter. Refuses all other requests. */
export async function openCallback(state: string, system: System): Promise<Callback> {
  const answers = Promise.withResolvers<{ answer: URL; response: ServerResponse }>()
  let received = false
  const limits = { requestTimeout: 10_000, connectionsCheckingInterval: 2_000, maxHeaderSize: 16 * 1024 }
  const server = createServer(limits, (request, response) => {
    const answer = callbackUrl(request, address)
    if (answer === undefined) return reply(response, 404, resultPages.unknownAddress)
    if (!equalSecrets(answer.searchParams.get('state') ?? '', state)) {
      return reply(response, 400, resultPages.otherSignIn)
    }
    if (received) return reply(response, 409, resultPages.alreadyReceived)
    received = true
    answers.resolve({ answer, response })
  })
  server.maxConnections = 64
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  return {
    address,
    receiveAnswer: async (finish) => {
      const { answer, response } = await limitWait(answers.promise, system)
      try {
        await finish(answer)
      } catch (error) {
        await reply(response, 400, resultPages.failed)
        throw error
      }
      await reply(response, 200, resultPages.done)
    },
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      // `close` alone would wait for open connections.
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Returns the request's URL if it is a GET request to the redirect address; otherwise undefined. Does not accept a
 * different Host header, because a page of another site may have sent the request (DNS rebinding).
 */
function callbackUrl(request: IncomingMessage, address: string): URL | undefined {
  const { host, pathname } = new URL(address)
  const called = URL.parse(request.url ?? '', `http://${host}`)
  const fits = request.method === 'GET' && request.headers.host === host && request.url?.startsWith('/')
  return fits && called?.host === host && called.pathname === pathname ? called : undefined
}

async function limitWait<T>(answer: Promise<T>, system: System): Promise<T> {
  const timer = new AbortController()
  const failAfterLimit = async () => {
    await system.sleep(longestWaitMs, timer.signal)
    const detail = 'Nobody signed in within 5 minutes: run payments-mcp login again, or payments-mcp login --device.'
    throw new Failure('unauthenticated', { detail })
  }
  try {
    return await Promise.race([answer, failAfterLimit()])
  } finally {
    timer.abort()
  }
}

/** Sends a page. Resolves once it is sent or the browser has disconnected. */
async function reply(
  response: ServerResponse,
  status: number,
  content: Parameters<typeof smallPage>[0],
): Promise<void> {
  if (response.destroyed) return
  const { page, headers } = smallPage(content)
  response.writeHead(status, { ...headers, Connection: 'close' })
  const gone = new Promise((resolve) => response.once('close', resolve).once('finish', resolve))
  response.end(page)
  await gone
}

/** The pages that answer requests to the loopback port. */
const resultPages = {
  done: {
    heading: 'You are signed in',
    lines: [
      'payments-mcp stores the login on this computer, in a file that only you can read, and renews it automatically.',
      'You can close this window and continue in the terminal, or in your AI host.',
    ],
  },
  failed: {
    heading: 'The sign-in failed',
    lines: ['The terminal says why. You can close this window.'],
  },
  unknownAddress: { heading: 'Page not found', lines: ['This address only receives the result of a sign-in.'] },
  otherSignIn: {
    heading: 'This is not the current sign-in',
    lines: ['This result belongs to another sign-in. Start again in the terminal.'],
  },
  alreadyReceived: {
    heading: 'Result already received',
    lines: ['The result of this sign-in was already received. You can close this window.'],
  },
} as const
