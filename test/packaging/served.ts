import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A `serve` process. */
export interface Served {
  /** The address on which it listens. */
  url: string
  /** Returns the address with the same path at this process. */
  at(address: string): string
  process: ChildProcess
  stop(): Promise<void>
}

/**
 * Runs Node.js with these arguments until it prints its address.
 * @throws Error with its other output
 */
export async function serve(args: readonly string[], env: Record<string, string>): Promise<Served> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    if (text.endsWith('\n')) break
  }
  const url = /listening on (\S+)/.exec(text)?.[1]
  if (url === undefined) throw new Error(`It did not start: ${text}${errors}`)
  return {
    url,
    process: child,
    at: (address) => new URL(new URL(address).pathname, url).href,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
