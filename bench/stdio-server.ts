import { type ChildProcess, spawn } from 'node:child_process'

/** A child process that speaks JSON-RPC lines; both sides of a comparison are driven by the same few lines of code. */
export interface StdioServer {
  pid: number
  /** Resolves with the result; rejects on an error, also on a tool's. */
  request(method: string, params: object): Promise<Record<string, unknown>>
  notify(method: string): void
  /** Ends its input and waits until it is gone. */
  end(): Promise<void>
}

interface Waiting {
  resolve(result: Record<string, unknown>): void
  reject(error: Error): void
}

/** Longer than any call takes; a server that says nothing for so long ends the bench instead of hanging it. */
const hungMs = 60_000

export function startStdioServer(
  [script, ...parameters]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): StdioServer {
  const child = spawn(process.execPath, [script, ...parameters], {
    env: { ...plainEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, Waiting>()
  readLines(child, (line) => {
    const { id, result, error } = JSON.parse(line)
    const call = waiting.get(id)
    waiting.delete(id)
    if (error !== undefined || result?.isError === true) call?.reject(new Error(line))
    else call?.resolve(result)
  })
  child.stdin.on('error', () => {})
  child.once('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${script} ended with ${code}`))
  })
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let lastId = 0
  return {
    pid: child.pid ?? 0,
    request: (method, params) =>
      new Promise((resolve, reject) => {
        lastId++
        waiting.set(lastId, { resolve, reject })
        write({ id: lastId, method, params })
      }),
    notify: (method) => void write({ method }),
    end: () => ended(child),
  }
}

/** What a host of the 2025 era sends first. */
export const opening = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
} as const

/** Runs a script that prints a line when it has started; the milliseconds until that line. */
export async function timeToFirstLine(script: string, env: Readonly<Record<string, string>>): Promise<number> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [script], {
    env: { ...plainEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const line = Promise.withResolvers<number>()
  readLines(child, () => line.resolve(performance.now() - startedAt))
  child.once('exit', (code) => line.reject(new Error(`${script} ended with ${code} and printed nothing`)))
  const tookMs = await line.promise
  await ended(child)
  return tookMs
}

/** Without what would change how Node itself starts. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NODE_|PAYMENTS_)/.test(name)))
}

function readLines(child: ChildProcess, received: (line: string) => void): void {
  let rest = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) received(line)
  })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const timer = setTimeout(() => child.kill('SIGKILL'), hungMs)
  child.stdin?.end()
  await exit
  clearTimeout(timer)
}
