import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../src/config/log.ts'
import { realSystem } from '../../src/core/system.ts'
import { listen } from '../../src/service/listen.ts'
import { databases } from '../support/databases.ts'
import { runResource } from '../support/run-resources.ts'
import { createWorld, type World } from '../support/world.ts'
import type { Fault } from './in-process.ts'

const cli = await runResource('cli')

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simulate-test-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Starts `simulate` with temporary files in `folder`. `ended` resolves when the command and its servers have ended. */
function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli, 'simulate', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Runs the command in a separate process group, as a shell does.
    detached: true,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  // The servers share the command's stderr, so it closes only after the last server has ended.
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return { child, ended }
}

describe('simulations in one process and in several', () => {
  it('the log is the same for the same seed, and the databases are deleted afterwards', async () => {
    const small = ['--agents', '2', '--purchases', '4', '--seed', 'small', '--turns']
    const [log, again] = [join(folder, 'first.log'), join(folder, 'second.log')]
    const first = await run([...small, '--log', log]).ended
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain('every answer was as predicted; money is conserved')
    const second = await run([...small, '--log', again, '--verbose', '--processes']).ended
    expect(second.stdout).toContain(await readFile(log, 'utf8'))
    expect(await readFile(again, 'utf8')).toBe(await readFile(log, 'utf8'))
    expect(await databaseFolders()).toEqual([])
  })

  it.each([
    // A negative id sends the signal to the process group, and so to the servers too, as a terminal does.
    ['SIGINT to its process group, with --processes', 'SIGINT', (pid: number) => -pid, '--processes'],
    ['SIGTERM, with --processes', 'SIGTERM', (pid: number) => pid, '--processes'],
    ['SIGHUP to its process group, with --turns', 'SIGHUP', (pid: number) => -pid, '--turns'],
    ['SIGINT, in one process', 'SIGINT', (pid: number) => pid, undefined],
  ] as const)('the command shuts down cleanly on %s', async (_, signal, receiver, way) => {
    const { child, ended } =
      way === '--processes' ? run([...long, way]) : run([...long, ...inFile(), ...(way === undefined ? [] : [way])])
    await waitForStart()
    process.kill(receiver(child.pid ?? Number.NaN), signal)
    const { code, stdout, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' })
    expect(stdout).toContain('interrupted after')
    expect(await databaseFolders()).toEqual([])
  })
})

describe('failures of the simulate command', () => {
  const small = ['--agents', '2', '--purchases', '3']

  it.runIf(existsSync('/proc/self/task'))('the report is printed even if a server is killed', async () => {
    const { child, ended } = run([...long, '--processes', '--turns', '--json'])
    const servers = async () =>
      (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')).trim().split(' ').filter(Boolean)
    await expect.poll(servers, { message: 'the servers did not start' }).toHaveLength(2)
    process.kill(Number((await servers())[1]), 'SIGKILL')
    const { code, stdout, stderr } = await ended
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 1, result: 'failed', failure: { expected: 'an answer' } })
    expect(stderr).toMatch(/^The service and the model disagree\. .*\n$/)
    expect(code).toBe(1)
    expect(await databaseFolders()).toEqual([])
  })

  it('a log file that cannot be created is refused before the simulation begins', async () => {
    const { code, stdout, stderr } = await run([...small, '--log', join(folder, 'none', 'run.log')]).ended
    expect(stderr).toMatch(/^payments-mcp: --log got ".*" \(ENOENT\); it accepts a file that can be written\.\n$/)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(await databaseFolders()).toEqual([])
  })

  it.runIf(existsSync('/dev/full'))(
    'the report is printed even if the log cannot be written',
    { timeout: 60_000 },
    async () => {
      const { code, stdout, stderr } = await run([...small, '--log', '/dev/full']).ended
      expect(stdout).toContain('every answer was as predicted')
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'payments-mcp: The log could not be written (ENOSPC).\n' })
    },
  )

  it('the databases are deleted even if nobody reads the output', async () => {
    const { child } = run([...small, '--verbose'])
    child.stdout.destroy()
    child.stderr.destroy()
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
    expect(await databaseFolders()).toEqual([])
  })

  it('the command exits at once on a second signal, and still deletes its databases', async () => {
    const { child, ended } = run([...long, '--processes'])
    await waitForStart()
    child.kill('SIGTERM')
    child.kill('SIGHUP')
    expect((await ended).code).toBe(130)
    expect(await databaseFolders()).toEqual([])
  })
})

/** Returns the names of the database folders, without the compile cache of Node.js. */
async function databaseFolders(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith('payments-mcp-simulate-'))
}

const long = ['--agents', '2', '--purchases', '1000']

/** Returns options that put the database into `folder`, so that `waitForStart` finds it. */
const inFile = () => ['--database-url', `sqlite:${join(folder, 'sandbox.sqlite')}`]

/** Waits for the sandbox's database file. Once it exists, agents are connecting or making calls. */
async function waitForStart(): Promise<void> {
  const files = async () => {
    const [directory = '.'] = await databaseFolders()
    return readdir(join(folder, directory))
  }
  await expect.poll(files, { message: 'the simulation did not begin' }).toContain('sandbox.sqlite')
}

describe('simulations on a deployed API', () => {
  const small = ['--agents', '2', '--purchases', '3']

  it('a simulation works with the money that the wallet has, and does not move the clock', async () => {
    await withDeployedService(undefined, async (world, url) => {
      await world.authorize(await world.issueCard(), 1234)
      const { code, stdout } = await run(small, { PAYMENTS_BASE_URL: url, PAYMENTS_KEY: world.agentKey }).ended
      expect(stdout).toContain('every answer was as predicted')
      expect(stdout).not.toContain('advance_sandbox_clock')
      expect(code).toBe(0)
    })
  })

  it('the command exits with 1 if an answer is wrong', async () => {
    const fault: Fault = (fetch) => async (request) => {
      const response = await fetch(request)
      return new Response((await response.text()).replace('"status":"active"', '"status":"used"'), response)
    }
    await withDeployedService(fault, async (world, url) => {
      const { code, stdout } = await run(small, { PAYMENTS_BASE_URL: url, PAYMENTS_KEY: world.agentKey }).ended
      expect(stdout).toMatch(/expected {2}agentCard .*status=active .*\nactual {4}agentCard .*status=used /)
      expect(stdout).toContain('Somebody else may have used the wallet')
      expect(code).toBe(1)
    })
  })

  it('an API key is refused, because only an agent key can run a simulation', async () => {
    await withDeployedService(undefined, async (world, url) => {
      const { code, stderr } = await run(small, { PAYMENTS_BASE_URL: url, PAYMENTS_KEY: world.apiKey }).ended
      expect(stderr).toMatch(/^payments-mcp: PAYMENTS_KEY \(--key\) acts as a party; .*\n$/)
      expect(code).toBe(2)
    })
  })
})

it.each([
  [['--agents', '0'], '--agents'],
  [['--purchases', 'many'], '--purchases'],
  [['--concurrency', '-1'], '--concurrency'],
  [['--concurrency', '2', '--clock-jumps'], '--concurrency'],
  [['--environment', 'production'], 'PAYMENTS_ENVIRONMENT'],
  [['--concurrency', '2', '--turns'], '--concurrency'],
  [['--processes', '--database-url', 'sqlite::memory:'], 'PAYMENTS_DATABASE_URL'],
])('the arguments %j are refused', async (args, name) => {
  const { code, stderr } = await run(args).ended
  expect(stderr).toMatch(new RegExp(`^payments-mcp: ${name} .*got .* accepts .*\\n$`))
  expect(code).toBe(2)
})

async function withDeployedService(fault: Fault = (fetch) => fetch, use: (world: World, url: string) => Promise<void>) {
  const [database] = databases
  if (database === undefined) throw new Error('no database')
  const world = await createWorld(database, { rateLimit: 1_000_000 })
  const fetch = fault(world.service.fetch)
  const listener = await listen({
    fetch,
    host: '127.0.0.1',
    port: 0,
    system: realSystem,
    log: createLogger({ level: 'silent' }),
  })
  try {
    await use(world, listener.url)
  } finally {
    await listener.close()
    await world.drop()
  }
}
