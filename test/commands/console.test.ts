import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, test } from 'vitest'

import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { isDeep } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { hasTerminal } from '../support/terminal.ts'

const cli = await runResource('cli')
let folder = ''
const running: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'console-'))
})
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  await rm(folder, { recursive: true })
})

const environment = () => ({
  PATH: process.env.PATH ?? '',
  PAYMENTS_DATABASE_URL: `sqlite:${join(folder, 'payments.sqlite')}`,
})

interface Started {
  child: ChildProcess
  output: { stdout: string; stderr: string }
  /** Resolves to the exit code. */
  ended: Promise<number | null>
  /** Resolves to the first line of `stdout`. */
  line: Promise<string>
}

function start(args: string[], env: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, [cli, 'console', ...args], { env: { ...environment(), ...env } })
  running.push(child)
  const output = { stdout: '', stderr: '' }
  const line = Promise.withResolvers<string>()
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += String(chunk)
    if (output.stdout.includes('\n')) line.resolve(output.stdout.split('\n')[0] ?? '')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += String(chunk)
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  void ended.then(() => line.resolve(output.stdout))
  return { child, output, ended, line: line.promise }
}

/** Signs in by one click and opens the page, as a browser does. Returns the status and the HTML as one string. */
async function openPage(url: string): Promise<string> {
  const { origin } = new URL(url)
  const body = new URLSearchParams({ next: '/console', as: 'owner' })
  const signedIn = await fetch(`${origin}/sign-in`, {
    method: 'POST',
    headers: { Origin: origin },
    body,
    redirect: 'manual',
  })
  const cookies = signedIn.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  const shown = await fetch(url, { headers: { Cookie: cookies.join('; ') }, redirect: 'manual' })
  return `${shown.status} ${await shown.text()}`
}

async function storedRunEntries() {
  const store = await openStore({ url: environment().PAYMENTS_DATABASE_URL, system: realSystem })
  const rows = await store.read(({ db }) =>
    db
      .selectFrom('runEntries')
      .innerJoin('runs', 'runs.id', 'runEntries.runId')
      .select(['runEntries.kind', 'runEntries.operation', 'runEntries.outcome', 'runs.host'])
      .orderBy('runEntries.id')
      .execute(),
  )
  await store.close()
  return rows.map(({ kind, operation, outcome, host }) => [kind, operation, outcome, host])
}

test.runIf(isDeep)(
  'the console shows the runs of a stdio MCP server with the same database, and both processes exit cleanly',
  async () => {
    const client = new Client({ name: 'a host', version: '7' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli], env: environment() }))
    const call = (name: string, input: Record<string, unknown> = {}) => client.callTool({ name, arguments: input })
    await call('list_wallets')
    const { child, output, ended, line } = start(['--no-open'])
    const [, url = ''] = /^The console is at (http:\/\/127\.0\.0\.1:\d+\/console)$/.exec(await line) ?? []
    expect(url, output.stderr).not.toBe('')
    expect(await openPage(url)).toMatch(/^200 .*<h1[^>]*>Runs/s)
    // The MCP server still works while the console runs, although both processes write to the database.
    const card = { merchant: { name: 'Cafe' }, maximumAmount: 900, currency: 'USD' }
    expect((await call('issue_agent_card', card)).isError).toBeUndefined()
    expect(await openPage(url)).toMatch(/^200 /)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect((await call('list_wallets')).isError).toBeUndefined()
    // This call never reaches the API, because an argument is invalid, but it is recorded before the process ends.
    await call('issue_agent_card', { maximumAmount: 'much' })
    await client.close()
    expect(await storedRunEntries()).toEqual([
      ['call', 'list_wallets', 'done', 'a host 7'],
      ['call', 'issue_agent_card', 'done', 'a host 7'],
      ['call', 'list_wallets', 'done', 'a host 7'],
      ['call', 'issue_agent_card', 'refused', 'a host 7'],
    ])
    expect(output.stderr).toBe('')
    expect(output.stdout).toBe(`The console is at ${url}\n`)
  },
)

test('the console command opens the console in a browser through a one-time sign-in link', async () => {
  const opener = join(folder, 'xdg-open')
  await writeFile(opener, `#!/bin/sh\nprintf '%s' "$1" > ${join(folder, 'opened')}\n`)
  await chmod(opener, 0o755)
  const { child, ended, line, output } = start(['--json'], { PATH: `${folder}${delimiter}${process.env.PATH}` })
  const { url } = JSON.parse(await line)
  const { origin } = new URL(url)
  const open = () => readFile(join(folder, 'opened'), 'utf8').catch(() => '')
  await expect.poll(open).toMatch(/\/sign-in\/once\/[\w-]{22}\?next=%2Fconsole$/)
  const link = new URL(await open())
  expect(link.origin).toBe(origin)
  // The link's page has a button that signs the owner in. After this sign-in, pages that refuse a one-click sign-in
  // open too.
  const pressed = await fetch(link, {
    method: 'POST',
    headers: { Origin: origin },
    body: new URLSearchParams({ next: '/console' }),
    redirect: 'manual',
  })
  expect([pressed.status, pressed.headers.get('location')]).toEqual([303, '/console'])
  const cookies = pressed.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  const shown = await fetch(`${origin}/second-factor`, { headers: { Cookie: cookies.join('; ') }, redirect: 'manual' })
  expect(shown.status).toBe(200)
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  // The output of the command is a pipe, so the command does not print the one-time link.
  expect(output).toEqual({ stdout: `${JSON.stringify({ url })}\n`, stderr: '' })
})

test.runIf(isDeep && hasTerminal).each(['console --no-open', 'serve --port 0'])(
  '`%s` prints a one-time sign-in link to a terminal',
  async (command) => {
    const line = `'${process.execPath}' '${cli}' ${command}`
    const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], { env: environment() })
    running.push(child)
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk)
    })
    await expect.poll(() => text).toMatch(/Stop with Ctrl\+C/)
    expect(text).toMatch(/http:\/\/127\.0\.0\.1:\d+\/sign-in\/once\/[\w-]{22}\?next=%2Fconsole/)
    child.stdin.write('\u0003')
    await once(child, 'exit')
  },
)

test('serve creates no one-time sign-in link if its output is a pipe', async () => {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0'], { env: environment() })
  running.push(child)
  let outputText = ''
  const collect = (chunk: Buffer) => {
    outputText += String(chunk)
  }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', collect)
  await expect.poll(() => outputText).toContain('\nKeys ')
  expect(outputText).not.toContain('/sign-in/once/')
  const store = await openStore({ url: environment().PAYMENTS_DATABASE_URL, system: realSystem })
  expect(await store.read(({ db }) => db.selectFrom('signInLinks').selectAll().execute())).toEqual([])
  await store.close()
})

test.runIf(isDeep)('the console command reports that no browser could be opened, and keeps running', async () => {
  const { child, ended, line, output } = start([], { PATH: folder })
  expect(await line).toContain('The console is at')
  await expect
    .poll(() => output.stderr)
    .toBe('payments-mcp: no browser could be opened here: open the address yourself.\n')
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})

test.runIf(isDeep)('the console command exits with a one-line error if its port is in use', async () => {
  const first = start(['--no-open', '--json'])
  const { port } = new URL(JSON.parse(await first.line).url)
  const second = start(['--no-open', '--port', port])
  expect(await second.ended).toBe(2)
  expect(second.output.stdout).toBe('')
  expect(second.output.stderr).toBe(
    `payments-mcp: --port got ${port} on 127.0.0.1, which is in use by another payments-mcp (sandbox): use it, stop it, or give a free port on an address of this machine.\n`,
  )
})

test.runIf(isDeep)('console opens the console of a deployed API; in production, it requires such an API', async () => {
  const deployed = start(['--no-open', '--json', '--base-url', 'https://payments.example'], {
    PAYMENTS_DATABASE_URL: '',
  })
  expect(await deployed.ended).toBe(0)
  expect(deployed.output.stdout).toBe('{"url":"https://payments.example/console"}\n')
  const refused = start(['--no-open'], { PAYMENTS_ENVIRONMENT: 'production' })
  expect(await refused.ended).toBe(2)
  expect(refused.output.stderr).toMatch(/^payments-mcp: PAYMENTS_BASE_URL [^\n]+\n$/)
})
