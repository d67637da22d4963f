import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRehearsalStage } from '../../src/commands/rehearse-stage.ts'
import { openReportFolder, writeReport } from '../../src/commands/report-folder.ts'
import { realSystem } from '../../src/core/system.ts'
import type { Agent } from '../../src/rehearse/agent.ts'
import { commandAgent } from '../../src/rehearse/agents/command.ts'
import { rehearse } from '../../src/rehearse/rehearse.ts'
import { resultsTable } from '../../src/rehearse/table.ts'
import { type ConsoleSite, createConsoleSite } from '../console/console-site.ts'
import { ownStart } from '../rehearse/own-start.ts'
import { agentBy, scenarioWith } from '../rehearse/trials.ts'
import { alterAnswers, type Fault, localTarget, matches, simulateInProcess } from '../simulate/in-process.ts'
import { onEachDatabase } from '../support/databases.ts'
import { runResource } from '../support/run-resources.ts'
import { secretNames, secretTexts } from './samples.ts'

const cli = await runResource('cli')

/**
 * Returns the names of the secrets that a text contains, whether or not they are escaped for HTML, XML or JSON. Ignores
 * ids and hashes, because they may contain the same digits by chance.
 */
function leaksIn(text: string): string[] {
  const unescaped = text
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
    .replaceAll('\\', '')
    .replace(/\b(?:[a-z]{2,5}_)?[0-9a-f]{32}(?:[0-9a-f]{32})?\b/g, 'id')
  return secretTexts.flatMap(({ name, secret }) => (unescaped.includes(secret) ? [name] : []))
}

const namedSecrets = Object.fromEntries(secretNames.map((name, at) => [name, `q7-value-${at}`]))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'payments-secrets-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('the report of a rehearsal', () => {
  /** Runs one trial. Returns the content of each file of the report, and the results table. */
  async function reportOf(agent: Agent): Promise<Record<string, string>> {
    const { results } = await rehearse({
      ...{ scenarios: [scenarioWith({})], agent, trials: 1, concurrency: 1, seed: '1' },
      signal: new AbortController().signal,
      openStage: openRehearsalStage,
      openFolder: async () => {
        const path = await mkdtemp(join(folder, 'trial-'))
        return { path, remove: () => rm(path, { recursive: true }) }
      },
      elapsed: () => realSystem.elapsed(),
    })
    const into = await mkdtemp(join(folder, 'report-'))
    await openReportFolder('--report', into)
    await writeReport(into, results)
    const files = await readdir(into)
    expect(files.toSorted()).toEqual(['junit.xml', 'report.html', 'results.json', 'summary.md', 'traces.json'])
    const read = await Promise.all(files.map(async (file) => [file, await readFile(join(into, file), 'utf8')] as const))
    return { ...Object.fromEntries(read), table: resultsTable(results) }
  }

  test.each(secretTexts)("a report shows no secret from an agent's call or answer: $name", async ({ text }) => {
    const files = await reportOf(
      agentBy(async ({ call }) => {
        const long = { currency: text, [text]: 1, merchant: { name: text }, note: [{ deep: text }] }
        await call('issue_agent_card', long)
        await call('issue_agent_card', { merchant: { name: text }, maximumAmount: 500, currency: 'USD' })
        const counterparty = { type: 'handle', value: 'bakery' }
        await call('create_payment', { amount: 100, counterparty, description: text })
        await call('get_payment', { paymentId: text })
        await call(text).catch(() => {})
        return `Done with ${text}, as asked.`
      }),
    )
    for (const [file, content] of Object.entries(files)) expect(leaksIn(content), file).toEqual([])
    expect(files['results.json']).toContain('as asked.')
  })

  test('a report shows no value of a field whose name marks the value as secret', async () => {
    const agent = agentBy(
      async ({ call }) => (await call('issue_agent_card', { ...namedSecrets, deep: [namedSecrets] })).text,
    )
    for (const [file, content] of Object.entries(await reportOf(agent))) expect(content, file).not.toContain('q7-value')
  })

  test.each([
    ['its answer', ''],
    ['its error message', ' >&2; exit 3'],
  ])('a report shows no secret that the command of an agent prints as %s', async (_, more) => {
    const file = join(folder, 'samples.txt')
    await writeFile(file, secretTexts.map(({ text }) => `It is ${text}, so.\n`).join(''))
    const command = `cat "${file}"${more} # ${secretTexts[0]?.text}`
    const agent = commandAgent(command, {
      env: { PATH: process.env.PATH },
      start: ownStart,
      system: realSystem,
    })
    const files = await reportOf(agent)
    for (const [name, content] of Object.entries(files)) expect(leaksIn(content), name).toEqual([])
    expect(files['results.json']).toContain('It is')
  })
})

describe('the output of a simulation', () => {
  const isIssuing = (request: Request) => matches(request, 'POST', /\/agent-cards$/)
  const answerIssuing =
    (answer: () => Response): Fault =>
    (fetch) =>
    async (request) =>
      isIssuing(request) ? answer() : fetch(request)
  const replaceField = (method: string, name: string, text: string) =>
    alterAnswers(method, /\/agent-cards$/, (body) =>
      body.replace(new RegExp(`"${name}":"[^"]*"`), () => `"${name}":${JSON.stringify(text)}`),
    )
  const refusal = (text: string) =>
    Response.json({ errors: [{ code: text, status: '400', detail: text }] }, { status: 400 })
  const places: Record<string, (text: string) => Fault> = {
    'the name of a merchant': (text) => replaceField('POST', 'name', text),
    'a status': (text) => replaceField('POST', 'status', text),
    'the status of a listed record': (text) => replaceField('GET', 'status', text),
    'the code and the detail of an error': (text) => answerIssuing(() => refusal(text)),
    'the message of a network error': (text) =>
      answerIssuing(() => {
        throw new Error(text)
      }),
  }

  describe.each(Object.entries(places))('a service with a secret in %s', (_, faultOf) => {
    test.each(secretTexts)('the report, summary and log show no secret: $name', async ({ text }) => {
      const target = { ...localTarget(faultOf(text)), isolated: false }
      const { exitCode, report, summary, log } = await simulateInProcess({ agents: 1, purchases: 2, target })
      expect(exitCode).toBe(1)
      expect(leaksIn([report, JSON.stringify(summary), ...log].join('\n'))).toEqual([])
    })
  })

  test('the error of a simulation shows no key from a refusal of its first request', async () => {
    const { text = '' } = secretTexts.find(({ name }) => name === 'an API key') ?? {}
    const error = await simulateInProcess({ target: localTarget(() => async () => refusal(text)) }).catch(String)
    expect(error).toContain('refused whoami')
    expect(leaksIn(String(error))).toEqual([])
  })
})

describe('the output of listen', () => {
  /**
   * Runs `listen` with a service that answers every request with `status` and `answer`. But if `status` is 200, the
   * first answer is an empty list. Returns the whole output.
   */
  async function outputOf(status: number, answer: object, ...args: string[]): Promise<string> {
    let requestCount = 0
    const server = createServer((_request, response) => {
      requestCount += 1
      const isFirst = requestCount === 1 && status === 200
      const body = isFirst ? { data: [], meta: { pagination: { nextCursor: null } } } : answer
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const key = 'sk_ntl_sandbox_0123456789abcdef0123456789'
      const env = { ...process.env, PAYMENTS_BASE_URL: url, PAYMENTS_KEY: key }
      const child = spawn(process.execPath, [cli, 'listen', ...args], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr), once(child, 'close')])
      return stdout + stderr
    } finally {
      server.close()
    }
  }

  test('listen prints no secret that an event contains', async () => {
    const data = secretTexts.map(({ text }, at) => {
      const attributes = { eventType: text, resourceId: text, resourceType: text, createdAt: 'now', payload: {} }
      return { type: 'event', id: `evt_${at}`, attributes }
    })
    const answer = { data, meta: { pagination: { nextCursor: null } } }
    const output = await outputOf(200, answer, '--count', String(data.length))
    for (const { id } of data) expect(output).toContain(id)
    expect(leaksIn(output)).toEqual([])
  })

  test('listen prints no secret that an error response contains', async () => {
    for (const { text } of secretTexts) {
      const output = await outputOf(400, { errors: [{ code: 'x', status: '400', detail: `see ${text}, please` }] })
      expect(output).toContain('please')
      expect(leaksIn(output)).toEqual([])
    }
  })
})

onEachDatabase('secrets in the console', (database) => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await createConsoleSite(database)
  })
  afterAll(() => site.world.drop())

  test('the console and the reports of a run show no secret from the requests of the run', async () => {
    const { world } = site
    const instanceId = 'a run with secrets'
    for (const { text } of secretTexts) {
      const inPath = encodeURIComponent(text)
      const answers = [
        await world.post('/agent-cards', { currency: text, [text]: 1, note: [{ deep: text }] }, { instanceId }),
        await world.get(`/agent-cards/${inPath}?limit=${inPath}`, { instanceId }),
        await world.send('POST', '/agent-cards', { instanceId, body: `{"data": ${text}` }),
        await world.get('/wallets', { instanceId: `named ${text}` }),
      ]
      expect(answers.map(({ status }) => status >= 400)).toEqual([true, true, true, false])
    }
    const named = await world.post('/agent-cards', { ...namedSecrets, deep: [namedSecrets] }, { instanceId })
    expect(named.status).toBe(400)
    const entries = await site.entries(instanceId)
    expect(entries).toHaveLength(3 * secretTexts.length + 1)
    const path = site.runPath(instanceId)
    const owner = await site.visitor()
    const pages = ['/console', '/console/money', '/console/sandbox', path, ...entries.map(site.entryPath)]
    const files = ['', '?format=html', '?format=md', '?format=json'].map((query) => `${path}/report${query}`)
    for (const page of [...pages, ...files]) {
      const { status, text } = await owner.open(page)
      expect(status, page).toBe(200)
      expect(leaksIn(text), page).toEqual([])
      expect(text, page).not.toContain('q7-value')
    }
  })
})
