import { open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../core/errors.ts'
import { newSecret, type System } from '../core/system.ts'

/** How long the work under a lock may take. A claim that is older is that of a process which died. */
const holdMs = 60_000
const longestWaitMs = 45_000

/**
 * Runs `work` while no other process runs any under the same lock. Who wants the lock first makes a file of its own
 * beside `path` (its claim) and then looks for the claims of others: of two that come at once at least one sees the
 * other and steps back, and what a dead process left can be removed without taking it from anyone who lives.
 */
export async function withFileLock<T>(path: string, system: System, work: () => Promise<T>): Promise<T> {
  const startedAt = system.elapsed()
  for (;;) {
    const claim = await tryClaim(path, system)
    if (claim !== undefined) {
      try {
        return await work()
      } finally {
        await rm(claim, { force: true })
      }
    }
    if (system.elapsed() - startedAt >= longestWaitMs) {
      throw new Failure('service_unavailable', {
        detail: `Another process is busy with ${path}; try again in a minute.`,
      })
    }
    // A random wait, so that those who stepped back for each other do not come back together.
    await system.sleep(20 + (system.randomBytes(1)[0] ?? 0) / 4)
  }
}

async function tryClaim(path: string, system: System): Promise<string | undefined> {
  if (await isClaimed(path, system)) return undefined
  const claim = `${path}.lock.${Math.ceil(system.now()) + holdMs}.${newSecret(system, 12)}`
  await (await open(claim, 'wx', 0o600)).close()
  if (!(await isClaimed(path, system, claim))) return claim
  await rm(claim, { force: true })
  return undefined
}

/** Whether somebody else claims the lock. Removes the claims that have ended. */
async function isClaimed(path: string, system: System, own?: string): Promise<boolean> {
  const prefix = `${basename(path)}.lock.`
  const nowMs = system.now()
  let claimed = false
  for (const name of await readdir(dirname(path))) {
    const claim = join(dirname(path), name)
    if (!name.startsWith(prefix) || claim === own) continue
    const leftMs = Number.parseInt(name.slice(prefix.length), 10) - nowMs
    // One that ends later than it may was made before the clock was set back.
    if (leftMs > 0 && leftMs <= 2 * holdMs) claimed = true
    else await rm(claim, { force: true })
  }
  return claimed
}
