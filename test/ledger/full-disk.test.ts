import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { TestDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

const diskBytes = 8 * 1024 * 1024

/** Mounts a small RAM disk and returns its path, or `undefined` if this user may not mount disks. */
function mountDisk(): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'payments-mcp-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', disk], { stdio: 'ignore' })
    return disk
  } catch {
    rmdirSync(disk)
    return undefined
  }
}

const disk = mountDisk()
if (disk === undefined) console.info('Skipped the test of a full disk, because this user may not mount disks.')

test.skipIf(disk === undefined)(
  'the service refuses changes and reports itself unhealthy while the disk is full',
  async () => {
    const folder = String(disk)
    const url = `sqlite:${join(folder, 'payments.sqlite')}`
    const database: Pick<TestDatabase, 'name' | 'create'> = {
      name: 'sqlite',
      create: async (system) => {
        const store = await openStore({ url, ...(system === undefined ? {} : { system }) } as never)
        return { store, url, drop: () => store.close() }
      },
    }
    const world = await createWorld(database as TestDatabase)
    const filler = join(folder, 'filler')
    const health = async () => (await world.service.fetch(new Request('http://sandbox.test/healthz'))).status
    try {
      await world.issueCard()
      expect(await health()).toBe(200)
      try {
        writeFileSync(filler, Buffer.alloc(diskBytes, 1))
      } catch {
        // The write fails when the disk is full.
      }
      const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
      let refused: number | undefined
      // The first requests succeed: they use free space inside the database's files.
      for (let count = 0; count < 2_000 && refused === undefined; count++) {
        const { status } = await world.post('/agent-cards', card, { idempotencyKey: `full disk ${count}` })
        if (status !== 200) refused = status
      }
      expect(refused).toBe(503)
      world.system.pass(60_000)
      expect(await health()).toBe(503)

      rmSync(filler)
      world.system.pass(60_000)
      expect(await health()).toBe(200)
      expect((await world.post('/agent-cards', card)).status).toBe(200)
    } finally {
      await world.drop()
      execFileSync('umount', [folder])
      rmdirSync(folder)
    }
  },
)
