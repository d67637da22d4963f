import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { withFileLock } from '../auth/file-lock.ts'
import type { Log } from '../client/client.ts'
import { Failure } from '../core/errors.ts'
import { hmac, type System } from '../core/system.ts'
import type { CallMemory } from '../mcp/dependencies.ts'

interface FileMemoryOptions {
  path: string
  /** The principal whose calls are remembered. */
  principal: string
  system: System
  log: Log
}

/** How long a sent call is stored: the longest time that PAYMENTS_REPEAT_WINDOW accepts. */
const storedMs = 24 * 60 * 60 * 1000

/** The sent calls, keyed by id, with the time when each call was sent and the time when it expires. */
type Sent = Record<string, { sealed: string; sentAtMs: number; untilMs: number }>

/**
 * Creates a memory of sent calls in a file that only the user can read. All of the user's processes that call a
 * deployed API share the file. If the file cannot be used, each process remembers only its own calls.
 */
export function fileMemory({ path, principal, system, log }: FileMemoryOptions): CallMemory {
  let ownEntries: Sent | undefined
  const changeOwnEntries = <T>(change: (sent: Sent) => T): T => {
    ownEntries ??= {}
    return change(ownEntries)
  }
  /**
   * Runs `change` on the unexpired calls in the file, while no other process can change the file. If the file cannot be
   * used, runs `change` on the calls of this process.
   */
  const changeEntries = async <T>(change: (sent: Sent) => T): Promise<T> => {
    if (ownEntries !== undefined) return changeOwnEntries(change)
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      return await withFileLock(path, system, async () => {
        const sent = await read(path, system.now())
        const result = change(sent)
        await write(path, sent)
        return result
      })
    } catch (error) {
      if (error instanceof Failure) throw error
      log.warn({ err: error }, `${path} cannot be used: other processes do not know which calls this one sent`)
      return changeOwnEntries(change)
    }
  }
  const recentEntry = (sent: Sent, id: string, windowMs: number) => {
    const [found, nowMs] = [sent[id], system.now()]
    if (found === undefined || found.sentAtMs <= nowMs - windowMs) return undefined
    const { sealed, sentAtMs } = found
    return { sealed, sentAtMs, agoMs: Math.max(0, nowMs - sentAtMs) }
  }
  return {
    // Answers are not written to the file, because some contain secrets.
    answers: new Map(),
    secret: hmac(principal, 'sent calls'),
    find: (id, windowMs) => changeEntries((sent) => recentEntry(sent, id, windowMs)),
    claim: (id, sealed, windowMs) =>
      changeEntries((sent) => {
        const before = recentEntry(sent, id, windowMs)
        if (before !== undefined) return before
        const sentAtMs = system.now()
        sent[id] = { sealed, sentAtMs, untilMs: sentAtMs + storedMs }
        return { sealed, sentAtMs, agoMs: 0 }
      }),
    forget: (id, sealed) =>
      changeEntries((sent) => {
        if (sent[id]?.sealed === sealed) delete sent[id]
      }),
  }
}

/**
 * Reads the unexpired calls. Treats a missing or damaged file as empty. Repeats of earlier calls are then not
 * recognized, but nothing else is lost.
 */
async function read(path: string, nowMs: number): Promise<Sent> {
  try {
    const entries = Object.entries(JSON.parse(await readFile(path, 'utf8')) as Sent)
    return Object.fromEntries(entries.filter(([, { untilMs }]) => untilMs > nowMs))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

/** Replaces the whole file or leaves it unchanged, even if the process is killed during the write. */
async function write(path: string, sent: Sent): Promise<void> {
  const next = `${path}.next`
  await writeFile(next, JSON.stringify(sent), { mode: 0o600 })
  await rename(next, path)
}
