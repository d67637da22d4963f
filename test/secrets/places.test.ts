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

/** Whole ids, UUIDs and SHA-256 hashes. They may contain the digits of a sample by chance, but no sample is as long. */
const idOrHash = /(?<![\da-f])(?:[\da-f]{64}|[\da-f]{32}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f])/g

/** Sends each sample in every place of a request or call that is refused, so that no record contains it. */
onEachDatabase('a secret that a caller sends', (database) => {
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

  const nowhere = async (secret: string, output: string) => {
    await world.service.runLog.flush()
    const rows = JSON.stringify([...(await readAllTables(world.store))]).replaceAll('\\', '')
    for (const [place, text] of Object.entries({ said: output, rows, log: world.logged.join('\n') })) {
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
  test.each(sampleOf(secretTexts, 3))('is shown and stored nowhere: $name', async ({ text, secret }) => {
    const { answers, calls, unknownTool } = await sendEverywhere(text)
    await nowhere(
      secret,
      JSON.stringify([answers.map((answer) => answer.text), calls, unknownTool]).replaceAll('\\', ''),
    )
  })

  // The message of an error still quotes a disguised number to the caller who sent it.
  test.each(disguisedNumbers)('is stored nowhere and in no pointer: $name', async ({ text, secret }) => {
    const { answers } = await sendEverywhere(text)
    await nowhere(secret, JSON.stringify(answers.map(({ json }) => json.errors[0].source)))
  })

  test('is not stored in a field with the name of a secret', async () => {
    const fields = Object.fromEntries(secretNames.map((name, at) => [name, `q7-value-${at}`]))
    const answers = [await world.post('/agent-cards', { ...fields, deep: [fields] })]
    expect(answers[0]?.status).toBe(400)
    const called = await connection.host.callTool('issue_agent_card', { ...fields, deep: [fields] })
    expect(called.isError).toBe(true)
    await nowhere('q7-value', JSON.stringify([answers[0]?.text, called]))
  })
})

test('the server log has no secret, in a message, in a field or under a name', () => {
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
    // The line's time contains digits.
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
