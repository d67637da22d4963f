import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import { withoutCards } from '../../src/service/pages/console/without-cards.ts'
import { readAllTables } from '../ledger/books.ts'
import { type Connected, connectHost } from '../mcp/connected.ts'
import { hosts } from '../mcp/hosts.ts'
import { onEachDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { disguisedNumbers, secretNames, secretTexts } from './samples.ts'

/** Matches ids, UUIDs and SHA-256 hashes, which may contain a secret's digits by chance. It matches no secret. */
const idOrHash = /(?<![\da-f])(?:[\da-f]{64}|[\da-f]{32}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f])/g

/** Sends each secret in many parts of requests and tool calls. All are refused. No record may contain the secret. */
onEachDatabase('secrets in refused requests', (database) => {
  let world: World
  let connection: Connected
  beforeAll(async () => {
    world = await createWorld(database)
    const { partyId, agentId, keyId } = await world.whoami()
    const memory = () => databaseMemories(world.service, world.store)({ id: keyId, partyId })
    connection = await connectHost(world, hosts[0].open, {
      repeats: { windowMs: 900_000, run: undefined, memory },
      note: (runNote) => world.service.reportEntry({ ...runNote, partyId, agentId, instanceId: 'the run of the host' }),
    })
  })
  afterAll(async () => {
    await connection.close()
    await world.drop()
  })

  const expectNowhere = async (secret: string, output: string) => {
    await world.service.runLog.flush()
    const rows = JSON.stringify([...(await readAllTables(world.store))]).replaceAll('\\', '')
    for (const [place, text] of Object.entries({ answers: output, rows, log: world.logged.join('\n') })) {
      expect(text.replace(idOrHash, '').includes(secret) ? place : 'nowhere').toBe('nowhere')
    }
  }

  const sendEverywhere = async (text: string) => {
    const long = { currency: text, [text]: 1, merchant: { name: text }, note: [{ deep: text }] }
    const answers = [
      await world.post('/agent-cards', long),
      await world.post('/payments', { amount: text, counterparty: { type: text, value: text } }),
      await world.get(`/agent-cards?limit=${encodeURIComponent(text)}`),
      await world.send('POST', '/agent-cards', { body: `{"data": ${text}` }),
    ]
    expect(answers.every(({ status }) => status >= 400)).toBe(true)
    const calls = [
      await connection.host.callTool('issue_agent_card', long),
      await connection.host.callTool('create_payment', { amount: text, counterparty: text, clear: [text] }),
      await connection.host.callTool('get_payment', { paymentId: text }),
    ]
    expect(calls.every(({ isError }) => isError === true)).toBe(true)
    const unknownTool = await connection.host.callTool(text).catch(String)
    return { answers, calls, unknownTool }
  }

  // `maskers.test.ts` passes all samples through each masker.
  test.each(sampleOf(secretTexts, 3))('a secret is neither shown nor stored: $name', async ({ text, secret }) => {
    const { answers, calls, unknownTool } = await sendEverywhere(text)
    await expectNowhere(
      secret,
      JSON.stringify([answers.map((answer) => answer.text), calls, unknownTool]).replaceAll('\\', ''),
    )
  })

  // Error messages may still quote a disguised number to the caller who sent it.
  test.each(disguisedNumbers)('a disguised number is not in records or pointers: $name', async ({ text, secret }) => {
    const { answers } = await sendEverywhere(text)
    await expectNowhere(secret, JSON.stringify(answers.map(({ json }) => json.errors[0].source)))
  })

  test('the value of a field that is named like a secret is neither shown nor stored', async () => {
    const fields = Object.fromEntries(secretNames.map((name, at) => [name, `q7-value-${at}`]))
    const answers = [await world.post('/agent-cards', { ...fields, deep: [fields] })]
    expect(answers[0]?.status).toBe(400)
    const called = await connection.host.callTool('issue_agent_card', { ...fields, deep: [fields] })
    expect(called.isError).toBe(true)
    await expectNowhere('q7-value', JSON.stringify([answers[0]?.text, called]))
  })
})

test('the server log contains no secret from a message or a field, and no value of a field named like a secret', () => {
  const body = `import { createLogger } from './src/config/log.ts'
    import { secretNames, secretTexts } from './test/secrets/samples.ts'
    const log = createLogger({ level: 'info' })
    for (const { text } of secretTexts) log.info({ deep: { text } }, 'it said ' + text)
    for (const name of secretNames) log.info({ deep: [{ [name]: 'q7-value' }] }, 'named')
    await log.flush()`
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', body], {
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  const lines = stderr.split('\n').filter((line) => line !== '')
  expect(lines).toHaveLength(secretTexts.length + secretNames.length)
  for (const [at, { secret }] of secretTexts.entries()) {
    // The timestamp of the line may contain the digits of a secret by chance.
    const { time: _, ...line } = JSON.parse(lines[at] ?? '') as Record<string, unknown>
    expect(JSON.stringify(line)).not.toContain(secret)
  }
  expect(stderr).not.toContain('q7-value')
})

test.each(secretTexts.filter(({ secret }) => /^(?:4242|822463|NDI0)/.test(secret)))(
  'the console shows no card number in a record: $name',
  ({ text, secret }) => {
    expect(JSON.stringify(withoutCards({ name: text }))).not.toContain(secret)
  },
)
