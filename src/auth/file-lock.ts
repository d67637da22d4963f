import { open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../core/errors.ts'
import { newSecret, type System } from '../core/system.ts'

/** The longest time that a process may hold a lock. An older claim counts as the claim of a process that died. */
const maxWorkMs = 60_000
const longestWaitMs = 45_000

/**
 * Runs `work` while no other process holds the lock on `path`. To take the lock, a process creates a claim file next to
 * `path`, then looks for claim files of other processes. If two processes do so at the same time, at least one of them
 * sees the other's file and deletes its own. Because claim files are never shared, deleting the file of a dead process
 * cannot release the lock of a live one.
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
    // The wait is random, so that two processes that both deleted their claims do not try again at the same time.
    await system.sleep(20 + (system.randomBytes(1)[0] ?? 0) / 4)
  }
}

async function tryClaim(path: string, system: System): Promise<string | undefined> {
  if (await isClaimed(path, system)) return undefined
  const claim = `${path}.lock.${Math.ceil(system.now()) + maxWorkMs}.${newSecret(system, 12)}`
  await (await open(claim, 'wx', 0o600)).close()
  if (!(await isClaimed(path, system, claim))) return claim
  await rm(claim, { force: true })
  return undefined
}

/** Returns whether another process claims the lock. Removes expired claims. */
async function isClaimed(path: string, system: System, ownClaim?: string): Promise<boolean> {
  const prefix = `${basename(path)}.lock.`
  const nowMs = system.now()
  let claimed = false
  for (const name of await readdir(dirname(path))) {
    const claim = join(dirname(path), name)
    if (!name.startsWith(prefix) || claim === ownClaim) continue
    const leftMs = Number.parseInt(name.slice(prefix.length), 10) - nowMs
    // A claim that expires too far in the future was created before the clock was set back. It counts as expired.
    if (leftMs > 0 && leftMs <= 2 * maxWorkMs) claimed = true
    else await rm(claim, { force: true })
  }
  return claimed
}
