import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { listen } from '../../src/service/listen.ts'
import { entriesOf } from '../runs/stored-entries.ts'
import { sqlite } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { createWorld } from '../support/world.ts'

const document = readFileSync(new URL('../../docs/quickstart.md', import.meta.url), 'utf8')
const programIn = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(document)?.[1]

const log = { debug() {}, info() {}, warn() {}, error() {} }

test.each([
  { language: 'js', command: process.execPath, flags: ['--input-type=module', '--eval'] },
  { language: 'python', command: 'python3', flags: ['-W', 'error', '-c'] },
])(
  'the $language program in docs/quickstart.md makes the purchase that the document describes',
  async ({ language, command, flags }) => {
    if (spawnSync(command, ['--version']).status !== 0) throw new Error(`${command} is not installed.`)
    const world = await createWorld(sqlite)
    const { fetch } = world.service
    const listener = await listen({ fetch, host: '127.0.0.1', port: await freePort(), system: realSystem, log })
    const run = (key: string) => {
      const env = { ...process.env, PAYMENTS_KEY: key, PAYMENTS_BASE_URL: listener.url }
      return promisify(execFile)(command, [...flags, programIn(language) ?? ''], { env })
    }
    try {
      expect((await run(String(world.agentKey))).stdout).toBe('authorized\ncaptured\n2457.50\n')
      const tools = (await entriesOf(world, 'quick start')).map(({ operation }) => operation)
      expect(tools).toEqual(expect.arrayContaining(['issue_agent_card', 'simulate_card_capture']))
      await expect(run('ak_ntl_sandbox_wrong')).rejects.toMatchObject({
        stderr: expect.stringContaining('unauthenticated: '),
      })
    } finally {
      await listener.close()
      await world.drop()
    }
  },
)
