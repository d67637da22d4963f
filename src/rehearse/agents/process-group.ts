import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { System } from '../../core/system.ts'

export interface Ended {
  exitCode: number | null
  signal: NodeJS.Signals | null
  /** The ends of what it printed: no more is kept. */
  stdout: string
  stderr: string
}

export interface GroupOptions {
  env: Readonly<Record<string, string | undefined>>
  system: Pick<System, 'sleep'>
  /** Written to its standard input, which is empty otherwise. */
  input?: string
}

/** How much is kept of each stream. */
const mostBytes = 64 * 1024

/** How long processes may take to end: after they were asked to, and after they were made to. */
const graceMs = { SIGTERM: 2_000, SIGKILL: 200 } as const
const lookMs = 10

/**
 * Runs a command by the shell. It and all that it started in the background end with it, with the signal and with this
 * process: they are one group of processes.
 * @throws the signal's reason, once it aborts; Error where the shell cannot be started.
 */
export async function runGroup(
  command: string,
  { env, system, input }: GroupOptions,
  signal: AbortSignal,
): Promise<Ended> {
  signal.throwIfAborted()
  const child = spawn(command, {
    env,
    shell: true,
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as Child
  running.add(child)
  if (running.size === 1) process.on('exit', endAll)
  try {
    // A command may end without reading its input.
    child.stdin?.on('error', () => {})
    await once(child, 'spawn')
    child.stdin?.end(input)
    return await ended(child, system, signal)
  } finally {
    await endGroup(child, system)
    running.delete(child)
    if (running.size === 0) process.off('exit', endAll)
  }
}

async function ended(child: Child, system: GroupOptions['system'], signal: AbortSignal): Promise<Ended> {
  const [stdout, stderr] = [new Tail(), new Tail()]
  child.stdout.on('data', (chunk) => stdout.add(chunk))
  child.stderr.on('data', (chunk) => stderr.add(chunk))
  const closed = once(child, 'close').catch(() => {})
  try {
    const [exitCode, endedBy] = await once(child, 'exit', { signal }).catch((error) => {
      throw signal.aborted ? signal.reason : error
    })
    await endGroup(child, system)
    // What it printed last may come in after its end.
    await Promise.race([closed, system.sleep(graceMs.SIGTERM)])
    return { exitCode, signal: endedBy, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    child.stdout.destroy()
    child.stderr.destroy()
  }
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>

/** The commands that run now, which must not outlive this process. */
const running = new Set<ChildProcess>()

function endAll(): void {
  for (const child of running) kill(child, 'SIGKILL')
}

/** Asks the group to end, and ends what is left of it after a while. */
async function endGroup(child: ChildProcess, { sleep }: GroupOptions['system']): Promise<void> {
  for (const name of ['SIGTERM', 'SIGKILL'] as const) {
    if (!kill(child, name)) return
    for (let waitedMs = 0; waitedMs < graceMs[name]; waitedMs += lookMs) {
      await sleep(lookMs)
      if (!kill(child, 0)) return
    }
  }
}

/** Sends a signal to the group; false: nobody is in it any more. */
function kill({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false
  if (process.platform === 'win32') {
    // There are no groups there, but the tree below a process that still runs.
    if (exitCode !== null || signalCode !== null) return false
    if (name !== 0) spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' })
    return true
  }
  try {
    return process.kill(-pid, name)
  } catch {
    return false
  }
}

/** The end of a stream, however long it is. */
class Tail {
  #chunks: Buffer[] = []
  #length = 0

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.byteLength
    if (this.#length < 2 * mostBytes) return
    this.#chunks = [this.#end()]
    this.#length = mostBytes
  }

  text(): string {
    const end = this.#end()
    // A character that was cut in two is left out.
    const first = end.findIndex((byte) => (byte & 0xc0) !== 0x80)
    return end.subarray(Math.max(0, first)).toString('utf8')
  }

  #end(): Buffer {
    // A copy: a part would keep all of it in memory.
    return Buffer.from(Buffer.concat(this.#chunks).subarray(-mostBytes))
  }
}
