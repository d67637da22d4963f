import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { System } from '../../core/system.ts'

export interface CommandResult {
  exitCode: number | null
  signal: NodeJS.Signals | null
  /** The output to stdout. Only the last `maxBytes` bytes of each stream are kept. */
  stdout: string
  stderr: string
}

export interface GroupOptions {
  env: Readonly<Record<string, string | undefined>>
  /** The string to write to the command's standard input. Default: an empty input. */
  input?: string
}

/** The maximum number of bytes to return from each output stream. */
const maxBytes = 64 * 1024

/** How long to wait after each signal for the processes to end. */
const graceMs = { SIGTERM: 2_000, SIGKILL: 200 } as const
const pollMs = 10

/** Runs shell commands, each in its own process group. Ends the group when its command ends or this process exits. */
export class ProcessGroups {
  readonly #system: Pick<System, 'sleep'>
  readonly #running = new Set<ChildProcess>()
  readonly #endAll = () => {
    for (const child of this.#running) kill(child, 'SIGKILL')
  }

  constructor(system: Pick<System, 'sleep'>) {
    this.#system = system
  }

  /**
   * Runs a command. Ends all processes of its group when the command ends or the signal aborts.
   * @throws the signal's reason once the signal aborts; Error if the shell cannot be started
   */
  async run(command: string, { env, input }: GroupOptions, signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted()
    const child = spawn(command, {
      env,
      shell: true,
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    }) as Child
    this.#running.add(child)
    if (this.#running.size === 1) process.on('exit', this.#endAll)
    try {
      // Ignores write errors, because a command may end without reading its input.
      child.stdin?.on('error', () => {})
      await once(child, 'spawn')
      child.stdin?.end(input)
      return await this.#untilEnded(child, signal)
    } finally {
      await this.#end(child)
      this.#running.delete(child)
      if (this.#running.size === 0) process.off('exit', this.#endAll)
    }
  }

  async #untilEnded(child: Child, signal: AbortSignal): Promise<CommandResult> {
    const [stdout, stderr] = [new Tail(), new Tail()]
    child.stdout.on('data', (chunk) => stdout.add(chunk))
    child.stderr.on('data', (chunk) => stderr.add(chunk))
    const closed = once(child, 'close').catch(() => {})
    try {
      const [exitCode, endedBy] = await once(child, 'exit', { signal }).catch((error) => {
        throw signal.aborted ? signal.reason : error
      })
      await this.#end(child)
      // The last output may arrive after the process has ended.
      await Promise.race([closed, this.#system.sleep(graceMs.SIGTERM)])
      return { exitCode, signal: endedBy, stdout: stdout.text(), stderr: stderr.text() }
    } finally {
      child.stdout.destroy()
      child.stderr.destroy()
    }
  }

  /** Asks the group's processes to end, and kills those that still run after `graceMs.SIGTERM`. */
  async #end(child: ChildProcess): Promise<void> {
    for (const name of ['SIGTERM', 'SIGKILL'] as const) {
      if (!kill(child, name)) return
      for (let waitedMs = 0; waitedMs < graceMs[name]; waitedMs += pollMs) {
        await this.#system.sleep(pollMs)
        if (!kill(child, 0)) return
      }
    }
  }
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>

/** Sends a signal to a child's process group. Signal 0 only checks for processes. Returns false if none are left. */
function kill({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false
  if (process.platform === 'win32') {
    // Windows has no process groups, so only the tree of processes below a running process can be ended.
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

/** A buffer for a stream's last bytes. */
class Tail {
  #chunks: Buffer[] = []
  #length = 0

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.byteLength
    if (this.#length < 2 * maxBytes) return
    this.#chunks = [this.#end()]
    this.#length = maxBytes
  }

  text(): string {
    const end = this.#end()
    // Skips the remaining bytes of a character whose first byte was dropped.
    const first = end.findIndex((byte) => (byte & 0xc0) !== 0x80)
    return end.subarray(Math.max(0, first)).toString('utf8')
  }

  #end(): Buffer {
    // Makes a copy, since a view would keep the whole buffer in memory.
    return Buffer.from(Buffer.concat(this.#chunks).subarray(-maxBytes))
  }
}
