import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Agent, type Dispatcher } from 'undici'
import { bundle } from '../scripts/bundle.ts'
import { agentKey, openSandbox, serverSettings } from './sandbox.ts'

type Environment = Readonly<Record<string, string>>

/** The time after which the bench gives up on a server that does not respond. No call takes that long. */
const hungMs = 60_000

/**
 * Starts Node with this process's environment and `env`. Variables of this process that configure Node or this package
 * are left out.
 */
export function startNode(parameters: readonly string[], env: Environment = {}): ChildProcess {
  const plain = Object.entries(process.env).filter(([name]) => !/^(NODE_|PAYMENTS_)/.test(name))
  return spawn(process.execPath, [...parameters], {
    env: { ...Object.fromEntries(plain), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

export async function endProcess(child: ChildProcess, signal?: 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const timer = setTimeout(() => child.kill('SIGKILL'), hungMs)
  child.stdin?.end()
  if (signal !== undefined) child.kill(signal)
  await exit
  clearTimeout(timer)
}

export type StdioServer = ReturnType<typeof startStdioServer>

export const initializeParams = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
} as const

/** Starts an MCP server that communicates over stdio: this package's server, or one to compare it with. */
export function startStdioServer(parameters: readonly string[], env: Environment) {
  const child = startNode(parameters, env)
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>()
  readLines(child, (line) => {
    const { id, result, error } = JSON.parse(line)
    const call = waiting.get(id)
    waiting.delete(id)
    if (error !== undefined || result?.isError === true) call?.reject(new Error(line))
    else call?.resolve(result)
  })
  child.stdin?.on('error', () => {})
  child.once('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${parameters[0]} exited with code ${code}`))
  })
  const write = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let lastId = 0
  /** Sends a request. Rejects if the answer is an error or the tool reports an error. */
  const request = (method: string, params: object) => {
    const call = Promise.withResolvers<Record<string, unknown>>()
    waiting.set(++lastId, call)
    write({ id: lastId, method, params })
    return call.promise
  }
  /** Sends the messages with which an MCP 2025 host starts a session. */
  const greet = async () => {
    await request('initialize', initializeParams)
    write({ method: 'notifications/initialized' })
  }
  return { pid: child.pid ?? 0, request, greet, end: () => endProcess(child) }
}

function readLines(child: ChildProcess, received: (line: string) => void): void {
  createInterface({ input: child.stdout as Readable }).on('line', received)
}

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>

/** Starts an HTTP server and waits until it prints the URL of its MCP endpoint. */
export async function startHttpServer(
  parameters: readonly string[],
  { env, bearer = '' }: { env: Environment; bearer?: string },
) {
  const child = startNode(parameters, env)
  const url = await waitForUrl(child)
  const agent = new Agent({
    connections: null,
    pipelining: 1,
    headersTimeout: hungMs,
    bodyTimeout: 0,
    connect: { timeout: hungMs },
  })
  const common = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'x-instance-id': 'bench',
    authorization: `Bearer ${bearer}`,
  }
  const send = async (method: Dispatcher.HttpMethod, path: string, headers: Record<string, string>, body?: object) => {
    const sent = { origin: url.origin, path, method, headers: { ...common, ...headers } }
    const answer = await agent.request({ ...sent, body: body === undefined ? null : JSON.stringify(body) })
    return { ...answer, text: await answer.body.text() }
  }
  return {
    pid: child.pid ?? 0,
    origin: url.origin,
    /** Posts a JSON-RPC message. Rejects if the answer is an error or the tool reports an error. */
    post: async (message: object, headers: Record<string, string> = {}) => {
      const {
        statusCode,
        text,
        headers: answered,
      } = await send('POST', url.pathname, headers, {
        jsonrpc: '2.0',
        ...message,
      })
      if (statusCode === 202) return { sessionId: null }
      const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
      if (error !== undefined || result?.isError === true) throw new Error(text)
      const id = answered['mcp-session-id']
      return { sessionId: typeof id === 'string' ? id : null }
    },
    /** Calls the server's REST API. Returns the body of the response. */
    rest: async (method: 'GET' | 'POST', path: string, attributes?: object) => {
      const headers: Record<string, string> = attributes === undefined ? {} : { 'idempotency-key': randomUUID() }
      const { statusCode, text } = await send(method, path, headers, attributes && { data: { attributes } })
      if (statusCode !== 200) throw new Error(text)
      return text
    },
    end: async () => {
      await agent.destroy()
      await endProcess(child, 'SIGTERM')
    },
  }
}

function waitForUrl(child: ChildProcess): Promise<URL> {
  const { promise, resolve, reject } = Promise.withResolvers<URL>()
  readLines(child, (line) => {
    const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(line)?.[0]
    if (address !== undefined) resolve(new URL(address))
  })
  child.once('exit', (code) => reject(new Error(`A server exited with code ${code}.`)))
  const timer = setTimeout(() => reject(new Error(`A server printed no URL within ${hungMs} ms.`)), hungMs)
  return promise.finally(() => clearTimeout(timer))
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Builds this package's bundle. Returns the path of the program in the bundle. */
export function ourBundle(): string {
  execFileSync('npm', ['run', '--silent', 'bundle'], { cwd: here('..'), stdio: ['ignore', 'ignore', 'inherit'] })
  return here('../bundle/server/cli.js')
}

export type Programs = Awaited<ReturnType<typeof preparePrograms>>

/** Builds the programs to compare, and seeds a database for the stdio server. */
export async function preparePrograms(directory: string) {
  // With these variables, Node puts its compile cache into `directory`. So the cache starts empty and is deleted with
  // this folder.
  const env = { TMPDIR: directory, TMP: directory, TEMP: directory }
  const ours = ourBundle()
  const folder = join(directory, 'one-tool')
  await bundle({ entry: here('one-tool.ts'), folder })
  const oneTool = join(folder, 'server/cli.js')
  const cached = join(directory, 'cached.mjs')
  writeFileSync(
    cached,
    `import m from 'node:module'\nm.enableCompileCache()\nawait import(${JSON.stringify(oneTool)})\n`,
  )
  const bareNode = join(directory, 'bare.cjs')
  writeFileSync(bareNode, "process.stdout.write('started\\n')\n")
  const fileOf = (name: string) => ({ PAYMENTS_DATABASE_URL: `sqlite:${join(directory, name)}.sqlite` })
  await (await openSandbox(fileOf('stdio').PAYMENTS_DATABASE_URL)).close()
  const { PAYMENTS_RATE_LIMIT } = serverSettings
  const served = { ...env, ...serverSettings, ...fileOf('http'), PAYMENTS_PORT: '0' }
  return {
    /** Starts this package's bundle on a SQLite file that contains a seeded sandbox. */
    startOurs: () => startStdioServer([ours], { ...env, PAYMENTS_RATE_LIMIT, ...fileOf('stdio') }),
    /** Starts the one-tool server, which is bundled like this package and uses the compile cache too. */
    startOneTool: () => startStdioServer([cached], env),
    /** Starts the one-tool server with a SQLite file, to which each call of the tool adds a row. */
    startOneToolDurable: () => startStdioServer([oneTool, join(directory, 'durable.sqlite')], env),
    /** Starts this package's bundle with the command `serve`. Requests to it carry the agent's key. */
    startOursHttp: () => startHttpServer([ours, 'serve'], { env: served, bearer: agentKey }),
    /** Starts the one-tool server on the SDK's own HTTP transports. */
    startOneToolHttp: () => startHttpServer([oneTool, 'http'], { env }),
    /** Starts a Node process that only prints a line. Returns the milliseconds until the line arrives. */
    timeBareNode: async () => {
      const startedAt = performance.now()
      const child = startNode([bareNode], env)
      await once(child.stdout as Readable, 'data')
      const tookMs = performance.now() - startedAt
      await endProcess(child)
      return tookMs
    },
  }
}

const ps = (field: string, pid: number) =>
  execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' })

export function residentMegabytes(pid: number): number {
  return Number(ps('rss', pid)) / 1024
}

/**
 * Returns the CPU time of a process, including all its threads, in milliseconds. On Linux, the time is accurate to 10
 * ms; elsewhere, it is as accurate as the output of `ps`.
 */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') {
    const parts = ps('time', pid).trim().split(':')
    return parts.reduce((seconds, part) => seconds * 60 + Number(part), 0) * 1000
  }
  // Adds fields 14 and 15 (see proc(5)), which count ticks of 10 ms. Cuts off fields 1 and 2 first, because the command
  // in field 2 may contain spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
