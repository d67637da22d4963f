import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorOf, hosts } from '../mcp/hosts.ts'
import { serve } from '../packaging/served.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { secrets } from '../support/world.ts'

const cli = await runResource('cli')
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'payments-mcp-fault-files-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

async function writeRules(name: string, content: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, content)
  return path
}

const environment = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? '',
  NODE_NO_WARNINGS: '1',
  PAYMENTS_LOG_LEVEL: 'error',
  PAYMENTS_DATABASE_URL: 'sqlite::memory:',
  ...more,
})

test.each(sampleOf([['the stdio server', []] as const, ['serve', ['serve', '--port', '0']] as const], 2))(
  '%s does not start if its fault file has mistakes, and prints a line for each mistake',
  async (_command, args) => {
    const path = await writeRules(
      'wrong.yaml',
      `seed: seven
faults:
  - { operation: issue_agent_crad, fault: reset }
  - fault: reset
  - { operation: whoami, fault: error }
  - { id: a, operation: whoami, fault: slow, code: rate_limited }
  - { id: a, operation: whoami, fault: reset }
  - { operation: create_payment, fault: stale }
  - { operation: clear_sandbox_faults, fault: reset }
`,
    )
    const child = spawn(process.execPath, [cli, ...args, '--faults', path], { env: environment() })
    child.stdin.end()
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.replaceAll(path, 'wrong.yaml').split('\n')).toEqual([
      'payments-mcp: PAYMENTS_FAULTS (--faults) got "wrong.yaml", which cannot be used:',
      'wrong.yaml:3:7 faults[0].operation got "issue_agent_crad"; it accepts the name of an operation, or * (did you mean issue_agent_card?).',
      'wrong.yaml:4:5 faults[1].operation is missing: a rule needs an operation (a name, or *), a path or both.',
      'wrong.yaml:5:5 faults[2].code is required for the fault "error": an error code such as rate_limited.',
      'wrong.yaml:6:46 faults[3].code got "rate_limited"; it is only for the fault "error"; leave it out for "slow".',
      'wrong.yaml:7:7 faults[4].id got "a"; it accepts an id that no earlier rule in the file has.',
      'wrong.yaml:8:34 faults[5].fault got "stale"; it accepts a fault that applies to create_payment: "stale" applies only to operations that read data.',
      'wrong.yaml:9:7 faults[6].operation got "clear_sandbox_faults"; it accepts an operation that does not manage the sandbox: no rule can make clear_sandbox_faults fail.',
      '',
    ])
  },
)

test('over stdio, a fault file makes a call fail after it took effect, and repeating the call as the error advises returns the result', async () => {
  const rule = { id: 'paid', operation: 'issue_agent_card', path: '/mcp', fault: 'effect_then_503', when: { nth: 2 } }
  const path = await writeRules('good.json', JSON.stringify({ faults: [rule] }))
  const env = environment({ PAYMENTS_FAULTS: path, PAYMENTS_TOOLSETS: 'all' })
  const host = hosts[0].open()
  const transport = new StdioClientTransport({ command: process.execPath, args: [cli], env, stderr: 'inherit' })
  await host.connect(transport)
  const issue = (maximumAmount: number, more: object = {}) =>
    host.callTool('issue_agent_card', { merchant: { name: 'Books' }, maximumAmount, currency: 'USD', ...more })
  expect((await issue(100)).isError).not.toBe(true)
  const { code, idempotencyKey } = errorOf(await issue(200))
  expect(code).toBe('service_unavailable')
  expect((await issue(200, { idempotencyKey })).structuredContent).toMatchObject({ replayed: true })
  expect((await host.callTool('list_agent_cards')).structuredContent?.data).toHaveLength(2)

  await host.callTool('set_sandbox_fault', { operation: 'list_agent_cards', path: '/mcp', fault: 'empty_page' })
  expect((await host.callTool('list_agent_cards')).structuredContent?.data).toEqual([])

  // A rule that a tool call sets applies from the next call on.
  await host.callTool('set_sandbox_fault', { operation: 'whoami', path: '/mcp', fault: 'error', code: 'forbidden' })
  expect(errorOf(await host.callTool('whoami'))).toMatchObject({ code: 'forbidden' })
  await host.close()
})

test.runIf(isDeep)('the rules of a fault file apply until serve is started without the file', async () => {
  const path = await writeRules('down.yaml', 'faults: [{ operation: whoami, fault: error, code: service_unavailable }]')
  const database = `sqlite:${join(directory, 'served.sqlite')}`
  const env = environment({ PAYMENTS_DATABASE_URL: database, PAYMENTS_SANDBOX_AGENT_KEY: secrets.agentKey })
  const whoami = async (args: string[]) => {
    const served = await serve([cli, 'serve', '--port', '0', ...args], env)
    const headers = { Authorization: `Bearer ak_ntl_sandbox_${secrets.agentKey}` }
    const { status } = await fetch(`${served.url}/whoami`, { headers })
    await served.stop()
    return status
  }
  expect(await whoami(['--faults', path])).toBe(503)
  expect(await whoami([])).toBe(200)
})
