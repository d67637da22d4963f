import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Agent, type Dispatcher } from 'undici'
import { residentMegabytes } from './process-figures.ts'

/** A server process that is called over HTTP; both sides of a comparison are driven by the same few lines of code. */
export interface HttpServer {
  pid: number
  /** Where it listens, without a path. */
  origin: string
  /** Posts a message; the result of its answer. Rejects on an error, also on a tool's. */
  post(message: object, headers?: Record<string, string>): Promise<Answered>
  /** A call of the REST API that the server has beside MCP; the text of its answer. */
  rest(method: 'GET' | 'POST', path: string, attributes?: object): Promise<string>
  /** Opens the event stream of a session, and lets it flow. */
  listen(headers: Record<string, string>): Promise<void>
  residentMegabytes(): number
  end(): Promise<void>
}

export interface Answered {
  sessionId: string | null
  result: Record<string, unknown>
}

const startMs = 30_000

/** Starts a program that prints the address of its MCP endpoint in its first lines. */
export async function startHttpServer(
  parameters: readonly string[],
  { env, bearer }: { env: Readonly<Record<string, string>>; bearer?: string },
): Promise<HttpServer> {
  const child = spawn(process.execPath, [...parameters], {
    env: { ...plainEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const url = new URL(await addressOf(child))
  const agent = new Agent({
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 60_000,
    bodyTimeout: 0,
    headersTimeout: 60_000,
  })
  const common = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
  }
  const send = (method: Dispatcher.HttpMethod, headers: Record<string, string>, body: string | null = null) =>
    agent.request({ origin: url.origin, path: url.pathname, method, headers: { ...common, ...headers }, body })
  return {
    pid: child.pid ?? 0,
    origin: url.origin,
    post: async (message, headers = {}) => {
      const answer = await send('POST', headers, JSON.stringify({ jsonrpc: '2.0', ...message }))
      const text = await answer.body.text()
      if (answer.statusCode === 202) return { sessionId: null, result: {} }
      const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
      if (error !== undefined || result?.isError === true) throw new Error(text)
      const id = answer.headers['mcp-session-id']
      return { sessionId: typeof id === 'string' ? id : null, result }
    },
    rest: async (method, path, attributes) => {
      const headers = attributes === undefined ? {} : { 'idempotency-key': randomUUID() }
      const body = attributes === undefined ? null : JSON.stringify({ data: { attributes } })
      const answer = await agent.request({
        origin: url.origin,
        path,
        method,
        headers: { ...common, 'x-instance-id': 'bench', ...headers },
        body,
      })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(text)
      return text
    },
    listen: async (headers) => {
      const { statusCode, body } = await send('GET', { ...headers, accept: 'text/event-stream' })
      if (statusCode !== 200) throw new Error(`${statusCode} ${await body.text()}`)
      body.on('error', () => {}).resume()
    },
    residentMegabytes: () => residentMegabytes(child.pid ?? 0),
    end: async () => {
      await agent.destroy()
      const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      child.stdin?.end()
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await exit
      clearTimeout(timer)
    },
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk
    const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(printed)?.[0]
    if (address !== undefined) resolve(address)
  })
  child.once('exit', (code) => reject(new Error(`A server ended with ${code}.`)))
  const timer = setTimeout(() => reject(new Error(`A server printed no address within ${startMs} ms.`)), startMs)
  return promise.finally(() => clearTimeout(timer))
}

/** Without what would change how Node itself starts, or the server. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NODE_|PAYMENTS_)/.test(name)))
}
