import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Given } from '../../src/rehearse/agent.ts'
import type { Sandbox } from '../../src/testing/sandbox.ts'

/** How tests start this package. */
export const ownStart = () => ({ command: process.execPath, args: [inject('cli')], env: {} })

/** What an agent is given, with a sandbox as the trial's world. */
export function givenBy({ url, mcpUrl, keys, fetch }: Sandbox, task: string): Given & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'payments-trial-'))
  return {
    ...{ task, goal: undefined, url, mcpUrl, key: keys.agent, fetch, folder, seed: 'seed-of-the-trial' },
    shopsUrl: `${url}/shops`,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}
