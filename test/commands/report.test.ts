import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runIdOf } from '../../src/service/request/run-log.ts'
import { onEachDatabase } from '../support/databases.ts'
import { runResource } from '../support/run-resources.ts'
import { addParty, createWorld, type World } from '../support/world.ts'

const cli = await runResource('cli')

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
    const commandEnv = { PATH: process.env.PATH, HOME: home, PAYMENTS_DATABASE_URL: world.url, ...env }
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
      ...{ env: commandEnv, input, encoding: 'utf8', timeout: 60_000, maxBuffer: 1e8 },
    })
    return { status, stdout, stderr }
  }

  test('a report passes verification, also against the database, until one of its figures is changed', () => {
    const file = join(home, 'run.html')
    expect(run(['report', '--run', 'cursor 7', '--output', file])).toStrictEqual({ status: 0, stdout: '', stderr: '' })
    const output = run(['verify', file, '--against-database'])
    expect(output).toMatchObject({ status: 0, stderr: '' })
    expect(output.stdout).toMatch(/^verified: 2 entries, first [0-9a-f]{64}, last [0-9a-f]{64}, as in the database\n$/)
    const { stdout: md } = run(['report', '--run', 'cursor 7', '--format', 'md'])
    expect(run(['verify', '-'], md)).toMatchObject({ status: 0, stderr: '' })
    writeFileSync(file, readFileSync(file, 'utf8').replace('"authorizedCents": 3000', '"authorizedCents": 3'))
    const verification = run(['verify', file])
    expect(verification).toMatchObject({ status: 1, stdout: '' })
    expect(verification.stderr).toMatch(
      /^payments-mcp: not verified: the figure \S*authorizedCents does not match its hash\.\n$/,
    )
  })

  test('verify --against-database reports where a report differs from the database', async () => {
    const file = join(home, 'report.json')
    const otherWorld = await createWorld(database)
    const env = { PAYMENTS_DATABASE_URL: otherWorld.url }
    const sent = { instanceId: 'cursor 7' }
    await otherWorld.issueCard({}, sent)
    const { partyId } = await otherWorld.whoami()
    const [olderHead] = await otherWorld.store.read(({ db }) =>
      db.selectFrom('partyHeads').selectAll().where('partyId', '=', partyId).execute(),
    )
    await otherWorld.issueCard({}, sent)
    await otherWorld.service.runLog.flush()
    expect(run(['report', '--run', 'cursor 7', '--output', file, '--format', 'json'], '', env).status).toBe(0)
    const rows = await otherWorld.store.read(({ db }) =>
      db.selectFrom('activity').selectAll().where('instanceId', '=', 'cursor 7').orderBy('sequence').execute(),
    )
    const putHead = (head: object) =>
      otherWorld.store.transaction(({ db }) =>
        db.updateTable('partyHeads').set(head).where('partyId', '=', partyId).execute(),
      )
    const [first, last] = [rows[0]?.sequence ?? 0, rows.at(-1)?.sequence ?? 0]
    const rewrite = (change: object, sequence: number) =>
      otherWorld.store.transaction(({ db }) =>
        db.updateTable('activity').set(change).where('sequence', '=', sequence).execute(),
      )
    const cases = [
      [() => rewrite({ hash: 'f'.repeat(64) }, first), `entry ${first} differs in the database`],
      [() => rewrite({ hash: rows[0]?.hash }, first), undefined],
      [() => rewrite({ hash: 'f'.repeat(64) }, last), `entry ${last} differs in the database`],
      [() => rewrite({ hash: rows.at(-1)?.hash }, last), undefined],
      [() => putHead({ ...olderHead }), `the chain in the database ends before entry ${last}`],
      [() => putHead({ activitySequence: last }), 'the chain in the database is not sealed'],
    ] as const
    for (const [change, output] of cases) {
      await change()
      const { status, stderr } = run(['verify', file, '--against-database'], '', env)
      expect({ status, stderr }).toStrictEqual(
        output === undefined ? { status: 0, stderr: '' } : { status: 1, stderr: expect.stringContaining(output) },
      )
    }
    await otherWorld.drop()
  })

  test('verify prints one line of printable ASCII, even for unusual and hostile files', () => {
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
      const output = run(['verify', file])
      const label = `case ${at}: ${output.stderr}`
      expect(output.status, label).toBe(status)
      expect(status === 0 ? output.stdout : output.stderr, label).toMatch(/^[\x20-\x7e]+\n$/)
    }
  })

  test('report requires --party if several parties have runs with the same instance id', async () => {
    const sent = { instanceId: 'shared' }
    const other = await addParty(world)
    await world.issueCard({}, sent)
    await world.issueCard({}, { ...sent, key: other.agentKey })
    const { partyId } = await world.whoami()
    // Creates a run of the other party whose instance id is the run id of the first party's run.
    await world.issueCard({}, { instanceId: runIdOf(partyId, 'shared'), key: other.agentKey })
    await world.service.runLog.flush()
    const { status, stderr } = run(['report', '--run', 'shared'])
    expect({ status, stderr }).toStrictEqual({ status: 2, stderr: expect.stringContaining('add --party with one of') })
    for (const id of [partyId, other.partyId]) {
      expect(stderr).toContain(id)
      const output = run(['report', '--run', 'shared', '--party', id, '--format', 'json'])
      expect(JSON.parse(output.stdout).report).toMatchObject({ partyId: id, instanceId: 'shared', calls: 1 })
    }
    const byId = run(['report', '--run', runIdOf(partyId, 'shared'), '--format', 'json'])
    expect(JSON.parse(byId.stdout).report).toMatchObject({ partyId, instanceId: 'shared' })
    expect(run(['report', '--run', 'shared', '--party', 'pty_nobody']).status).toBe(2)
  })

  test('verify immediately refuses a path that is not a file, and a file with an overlong line', () => {
    const [fifo, big] = [join(home, 'fifo'), join(home, 'big')]
    spawnSync('mkfifo', [fifo])
    writeFileSync(big, '{"format":"payments-mcp-run-report","version":1,\n')
    truncateSync(big, 3_000_000_000)
    const cases = [
      [home, 'is not a file; give a file, or pipe a report to payments-mcp verify -.'],
      ['/dev/zero', 'is not a file;'],
      [fifo, 'is not a file;'],
      [big, 'has a line of more than 1048576 characters, which no report has;'],
    ] as const
    for (const [path, output] of cases) {
      const { status, stderr } = run(['verify', path])
      expect({ status, stderr }).toStrictEqual({ status: 2, stderr: expect.stringContaining(output) })
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
  })

  test('report and verify refuse invalid arguments with a one-line message and exit code 2', () => {
    const wrong = [
      [run(['report', '--run', 'nothing']), 'which is not a run in this database; the newest runs are '],
      [run(['report', '--run', 'cursor 7', '--format', 'pdf']), 'it accepts html, md, json.'],
      [
        run(['report', '--run', 'cursor 7'], '', { PAYMENTS_BASE_URL: 'https://payments.example' }),
        'download the report from https://payments.example/console.',
      ],
      [run(['verify', '-'], 'hello'), 'is not a payments-mcp report.'],
      [run(['verify', join(home, 'missing')]), 'cannot be read (ENOENT).'],
    ] as const
    for (const [{ status, stderr }, output] of wrong) {
      expect({ status, stderr }).toStrictEqual({ status: 2, stderr: expect.stringContaining(output) })
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
  })
})
