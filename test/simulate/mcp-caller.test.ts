import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { connectOverStdio } from '../../src/simulate/mcp-caller.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

/** Returns the ids of the running child processes of this process, except `others`. */
async function children(others: readonly string[] = []): Promise<string[]> {
  const { pid } = process
  const ids = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').filter(Boolean)
  return ids.filter((id) => !others.includes(id))
}

it.runIf(existsSync('/proc/self/task'))(
  'a second call of close also waits until the server process has ended',
  async () => {
    const others = await children()
    const env = { PAYMENTS_DATABASE_URL: 'sqlite::memory:', PAYMENTS_LOG_LEVEL: 'error' }
    const caller = await connectOverStdio({ command: process.execPath, args: [cli], env }, 2, () => {})
    expect(await children(others)).toHaveLength(1)
    const first = caller.close()
    await caller.close()
    expect(await children(others)).toEqual([])
    await first
  },
)
