import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A running `payments-mcp serve` process. */
export interface Served {
  /** The address on which the process listens. */
  url: string
  /** Returns the URL of this process that has the same path as the given URL. */
  at(address: string): string
  process: ChildProcess
  stop(): Promise<void>
}

/**
 * Starts a Node.js process with the given arguments and waits until it prints its address.
 * @throws Error with the output if the process exits first, or if its first output does not contain the address
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
  if (url === undefined) throw new Error(`The server did not start: ${text}${errors}`)
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
