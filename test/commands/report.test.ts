import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

onEachDatabase('report and verify', (database) => {
  let world: World
  let home: string

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'payments-report-'))
    world = await createWorld(database)
    const card = await world.issueCard({}, { instanceId: 'cursor 7' })
    await world.authorize(card, 3000, { instanceId: 'cursor 7' })
    await world.service.runLog.flush()
  })
  afterAll(async () => {
    rmSync(home, { recursive: true, force: true })
    await world.drop()
  })

  function run(args: string[], input = '', env: Record<string, string> = {}) {
    const given = { PATH: process.env.PATH, HOME: home, PAYMENTS_DATABASE_URL: world.url, ...env }
    const { status, stdout, stderr } = spawnSync(process.execPath, [inject('cli'), ...args], {
      ...{ env: given, input, encoding: 'utf8', timeout: 60_000, maxBuffer: 1e8 },
    })
    return { status, stdout, stderr }
  }

  test('a report is written and verified, also against the database', () => {
    const file = join(home, 'run.html')
    expect(run(['report', '--run', 'cursor 7', '--output', file])).toStrictEqual({ status: 0, stdout: '', stderr: '' })
    const told = run(['verify', file, '--against-database'])
    expect(told).toMatchObject({ status: 0, stderr: '' })
    expect(told.stdout).toMatch(/^verified: 2 entries, first [0-9a-f]{64}, last [0-9a-f]{64}, as in the database\n$/)
    const { stdout: md } = run(['report', '--run', 'cursor 7', '--format', 'md'])
    expect(run(['verify', '-'], md)).toMatchObject({ status: 0, stderr: '' })
    writeFileSync(file, readFileSync(file, 'utf8').replace('"authorizedCents": 3000', '"authorizedCents": 3'))
    const broken = run(['verify', file])
    expect(broken).toMatchObject({ status: 1, stdout: '' })
    expect(broken.stderr).toMatch(/^payments-mcp: not verified: the figure \S*authorizedCents does not fit\.\n$/)
  })

  test('whatever is to be verified ends with one line', () => {
    const { stdout: json } = run(['report', '--run', 'cursor 7', '--format', 'json'])
    const file = join(home, 'hostile')
    const head = json.slice(0, json.indexOf('"chain":['))
    const cases: [content: string | Buffer, status: number][] = [
      [`\uFEFF${json}`, 0],
      [Buffer.from(json, 'utf16le'), 2],
      [`${head}"chain":[\n${'1'.repeat(3_000_000)}`, 2],
      [json.replace('"refused": 0', '"\u001b[31m\u202e": 0'), 1],
    ]
    for (const [at, [content, status]] of cases.entries()) {
      writeFileSync(file, content)
      const told = run(['verify', file])
      const place = `case ${at}: ${told.stderr}`
      expect(told.status, place).toBe(status)
      expect(status === 0 ? told.stdout : told.stderr, place).toMatch(/^[\x20-\x7e]+\n$/)
    }
  })

  test('what is no file is not waited for', () => {
    const [fifo, big] = [join(home, 'fifo'), join(home, 'big')]
    spawnSync('mkfifo', [fifo])
    writeFileSync(big, '{"format":"payments-mcp-run-report","version":1,\n')
    truncateSync(big, 3_000_000_000)
    const cases = [
      [home, 'is no file; name one, or give it to payments-mcp verify - on stdin.'],
      ['/dev/zero', 'is no file;'],
      [fifo, 'is no file;'],
      [big, 'has a line of more than 1048576 characters, which no report has;'],
    ] as const
    for (const [path, told] of cases) {
      const { status, stderr } = run(['verify', path])
      expect({ status, stderr }).toStrictEqual({ status: 2, stderr: expect.stringContaining(told) })
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
  })

  test('what cannot be is told in one line, with 2', () => {
    const wrong = [
      [run(['report', '--run', 'nothing']), 'which is no run of this database; the newest are cursor 7.'],
      [run(['report', '--run', 'cursor 7', '--format', 'pdf']), 'it accepts html, md, json.'],
      [
        run(['report', '--run', 'cursor 7'], '', { PAYMENTS_BASE_URL: 'https://payments.example' }),
        'download the report from https://payments.example/console.',
      ],
      [run(['verify', '-'], 'hello'), 'is no report of payments-mcp report.'],
      [run(['verify', join(home, 'missing')]), 'cannot be read (ENOENT).'],
    ] as const
    for (const [{ status, stderr }, told] of wrong) {
      expect({ status, stderr }).toStrictEqual({ status: 2, stderr: expect.stringContaining(told) })
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
  })
})
