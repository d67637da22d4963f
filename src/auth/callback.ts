import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Failure } from '../core/errors.ts'
import { equalSecrets, type System } from '../core/system.ts'
import { smallPage } from '../display/small-page.ts'

interface Callback {
  /** The redirect address, on a free port of this machine. */
  address: string
  /** Waits for the answer, and shows in the browser whether `finish` succeeded. Rethrows an error of `finish`. */
  receiveAnswer(finish: (answer: URL) => Promise<void>): Promise<void>
  close(): Promise<void>
}

const longestWaitMs = 5 * 60_000

/** Listens for the one answer with this state. Refuses any other request, without ending the wait. */
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
      // An open connection must not keep the program from continuing.
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Returns the called URL if it is the redirect address. A different Host means that another site's page found the port.
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
    const detail = 'Nobody signed in within 5 minutes: run payments-mcp login again, or with --device.'
    throw new Failure('unauthenticated', { detail })
  }
  try {
    return await Promise.race([answer, failAfterLimit()])
  } finally {
    timer.abort()
  }
}

/** Resolves once the page is sent, or the client is gone. */
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

/** The last pages that the browser shows. */
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
  unknownAddress: { heading: 'There is nothing here', lines: ['This address only waits for the answer to a sign-in.'] },
  otherSignIn: {
    heading: 'Not the current sign-in',
    lines: ['This answer belongs to another sign-in. Start again in the terminal.'],
  },
  alreadyReceived: {
    heading: 'Already answered',
    lines: ['This sign-in was already answered. You can close this window.'],
  },
} as const
