import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Served, serveWorld } from '../oauth/served.ts'
import { runResource } from '../support/run-resources.ts'
import { emptyHome } from './credentials.ts'

const inspector = new URL(
  '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
  import.meta.url,
)
const cli = await runResource('cli')

let served: Served
let home: string
beforeAll(async () => {
  served = await serveWorld()
  home = emptyHome()
})
afterAll(async () => {
  await served.close()
  rmSync(home, { recursive: true, force: true })
})

/** The inspector's command-line arguments that select the server, by transport. */
const serverArguments: Record<string, () => string[]> = {
  stdio: () => [process.execPath, cli, '-e', 'PAYMENTS_DATABASE_URL=sqlite::memory:'],
  HTTP: () => [`${served.url}/mcp`, '--header', `Authorization: Bearer ${served.world.agentKey}`],
}

describe.each(Object.entries(serverArguments))('MCP Inspector over %s', (_name, serverArgumentsOf) => {
  const inspect = async (...options: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [fileURLToPath(inspector), '--cli', ...serverArgumentsOf(), ...options],
      { env: { PATH: process.env.PATH, HOME: home }, timeout: 240_000, maxBuffer: 16 * 1024 * 1024 },
    )
    return JSON.parse(stdout)
  }
  const namesOf = (list: { name: string }[]) => list.map(({ name }) => name)

  test('the inspector lists tools, prompts and resources, and calls whoami', async () => {
    // With `--strict`, the inspector fails if the API of a model provider would refuse the schema of a tool.
    const [{ tools }, { prompts }, { resources }, result] = await Promise.all([
      inspect('--method', 'tools/list', '--strict'),
      inspect('--method', 'prompts/list'),
      inspect('--method', 'resources/list'),
      inspect('--method', 'tools/call', '--tool-name', 'whoami'),
    ])
    expect(namesOf(tools)).toEqual(expect.arrayContaining(['whoami', 'issue_agent_card']))
    expect(namesOf(prompts)).toEqual(['buy_with_card', 'pay_somebody', 'review_approvals', 'rehearse_purchase'])
    expect(namesOf(resources)).toEqual(expect.arrayContaining(['card-purchase', 'activity']))
    expect(result.structuredContent.data.attributes).toMatchObject({ actorType: 'agent', credentialKind: 'agent_key' })
  })
})
