import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, describe, expect, it, test } from 'vitest'
import { stringify } from 'yaml'
import { modelAgent } from '../../src/rehearse/agents/model.ts'
import { findModel, modelPackages } from '../../src/rehearse/agents/model-provider.ts'
import { readResults, regrade } from '../../src/rehearse/regrade.ts'
import { asResults, resultsOf } from '../../src/rehearse/rehearse.ts'
import type { Results } from '../../src/rehearse/results.ts'
import { resultsTable } from '../../src/rehearse/table.ts'
import type { ModelSettings } from '../../src/rehearse/trial-record.ts'
import type { Conversation, Script } from '../hosts/model/script.ts'
import { type ScriptedModel, scriptedModel } from '../hosts/model/server.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { scenarioWith, smallWorld, trialBy } from './trials.ts'

const cli = await runResource('cli')
const folder = mkdtempSync(join(tmpdir(), 'payments-model-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// The SDK does not know the scripted model, and would log a warning in each trial.
globalThis.AI_SDK_LOG_WARNINGS = false

const models: ScriptedModel[] = []
afterEach(async () => {
  for (const model of models.splice(0)) await model.close()
})

async function startModel(...args: Parameters<typeof scriptedModel>): Promise<ScriptedModel> {
  const model = await scriptedModel(...args)
  models.push(model)
  return model
}

const key = 'zq7wvx4k-0123456789-abcdefghijkl'
const providers = ['openai:scripted', 'anthropic:scripted', 'google:scripted', 'URL#scripted'] as const

/** Returns environment variables that send each provider's requests to the scripted model. */
const environment = (url: string) => ({
  ...{ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1` },
  ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: `${url}/v1` },
  ...{ GOOGLE_GENERATIVE_AI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url },
  MODEL_KEY: key,
})

const rollsScenario = {
  task: 'Pay @bakery 42 dollars for rolls.',
  expect: [{ what: 'paid', to: '@bakery', exactly: 4200 }],
  answer: { outcome: 'done' },
} as const

const payment = { amount: 4200, counterparty: { type: 'handle', value: '@bakery' }, description: 'Rolls' }
const pay = { call: 'create_payment', arguments: () => payment }
const done = { say: () => 'I paid @bakery $42.00.' }
const pays: Script = [pay, done]

const limits: ModelSettings = { maxSteps: 10 }

async function rehearseScenario(
  modelName: string,
  model: ScriptedModel,
  scenario: Parameters<typeof scenarioWith>[0],
  settings = limits,
) {
  const access = await findModel(modelName.replace('URL', `${model.url}/v1`), environment(model.url))
  return trialBy(modelAgent(access, settings), scenarioWith(scenario), {
    openFolder: async () => ({ path: folder, remove: async () => {} }),
  })
}

describe.each(providers)('the model %s', (modelName) => {
  it("a model's tool calls are carried out, it gets their results, and its tokens and cost are counted", async () => {
    const model = await startModel(pays)
    const settings = { temperature: 0.5, maxSteps: 10, maxOutputTokens: 900, price: { input: 3, output: 15 } }
    const trial = await rehearseScenario(modelName, model, rollsScenario, settings)
    expect(trial).toMatchObject({ ended: 'answered', passed: true, calls: 1, answer: 'I paid @bakery $42.00.' })
    // Each response of the scripted model reports one input token and one output token.
    const usage = { inputTokens: 2, outputTokens: 2, steps: 2, retries: 0, costMicrodollars: 36 }
    expect(trial.usage).toEqual(usage)
    expect(model.results()).toEqual([expect.stringMatching(/\bpay_[0-9a-f]{32}/)])
    const sent = JSON.stringify(model.requests[0])
    for (const part of [rollsScenario.task, 'ask_person', '900', '0.5']) expect(sent).toContain(part)
    expect(sent).not.toContain('ak_ntl_')
  })

  it('a request to a model is repeated after status 429', async () => {
    const body = {
      type: 'error',
      error: { type: 'rate_limit_error', message: 'Slow down.', code: 429, status: 'LIMITED' },
    }
    const model = await startModel(pays, (nth) =>
      nth === 1 ? { status: 429, headers: { 'retry-after-ms': '1' }, body } : undefined,
    )
    const trial = await rehearseScenario(modelName, model, rollsScenario)
    expect(trial).toMatchObject({ passed: true, usage: { steps: 2, retries: 1 } })
  })

  it('a trial whose provider keeps failing is not judged, even after a wrong payment', async () => {
    const body = { type: 'error', error: { type: 'api_error', message: 'Overloaded.', code: 500, status: 'INTERNAL' } }
    const model = await startModel([{ ...pay, arguments: () => ({ ...payment, amount: 100 }) }], (nth) =>
      nth > 1 ? { status: 500, headers: { 'retry-after-ms': '1' }, body } : undefined,
    )
    const trial = await rehearseScenario(modelName, model, rollsScenario)
    expect(trial).toMatchObject({ ended: 'provider_failed', passed: false, verdicts: [], usage: { retries: 4 } })
    expect(trial.trouble).toMatch(/^HTTP 500: .*Overloaded\..* \(5 tries\)$/)
    const results = resultsOf(scenarioWith(rollsScenario), [trial])
    const { summary } = asResults({ agent: modelName, seed: '1', trials: 1 }, [results])
    expect(summary).toMatchObject({ passed: { passed: 0, of: 0 }, notJudged: 1, calls: 1, usage: { steps: 1 } })
  })

  it('no part of the provider’s key is revealed, even if the provider repeats the key in an error', async () => {
    const model = await startModel(pays, (_, headers) => {
      const sent = Object.values(headers).find((value) => String(value).includes(key))
      const message = `Not a key: ${sent} ${'.'.repeat(220)} ${sent}`
      return { status: 401, body: { type: 'error', error: { message, type: 'auth', code: 401, status: 'NO' } } }
    })
    const trial = await rehearseScenario(modelName, model, rollsScenario)
    expect(trial).toMatchObject({ ended: 'provider_failed', usage: { steps: 0, retries: 0 } })
    expect(trial.trouble).toMatch(/^HTTP 401: Not a key: (?:Bearer )?\[masked\] \.+ /)
    expect(JSON.stringify(trial)).not.toContain(key.slice(0, 8))
  })

  it('a model that ends its turn with a question gets the reply, and still sees its earlier calls', async () => {
    const script = ({ prompt, results }: Conversation) => {
      if (results.length === 0) return { call: 'whoami', arguments: () => ({}) }
      if (!prompt.includes('$42.00')) return { say: () => 'I can pay the bakery. How much should I pay?' }
      return results.length === 1 ? pay : done
    }
    const scenario = { ...rollsScenario, task: 'Pay @bakery for rolls.', person: { knows: { amount: 4200 } } }
    const trial = await rehearseScenario(modelName, await startModel(script), scenario)
    expect(trial).toMatchObject({ passed: true, calls: 2, usage: { steps: 4 } })
    expect(trial.state.questions).toMatchObject([{ kind: 'known', reply: '$42.00' }])
  })
})

it('a model can ask the person a question with the tool ask_person', async () => {
  const model = await startModel([{ call: 'ask_person', arguments: () => ({ question: 'Which amount?' }) }, pay, done])
  const scenario = { ...rollsScenario, task: 'Pay @bakery for rolls.', person: { knows: { amount: 4200 } } }
  const trial = await rehearseScenario('openai:scripted', model, scenario)
  expect(trial).toMatchObject({ passed: true, calls: 2 })
  expect(model.results()[0]).toContain('$42.00')
})

it('a trial fails if the model reaches the step limit, or answers without doing the task', async () => {
  const endless = await startModel(() => ({ call: 'whoami', arguments: () => ({}) }))
  const trial = await rehearseScenario('openai:scripted', endless, rollsScenario, { maxSteps: 3 })
  expect(trial).toMatchObject({ ended: 'failed', didRight: false, calls: 3, usage: { steps: 3 } })
  expect(trial.trouble).toBe('The model gave no answer within 3 steps (--max-steps).')

  const silent = await startModel([{ say: () => 'I cannot help with payments.' }])
  const refused = await rehearseScenario('openai:scripted', silent, rollsScenario)
  expect(refused).toMatchObject({ ended: 'answered', didRight: false, calls: 0, trouble: null })
})

it('a trial whose provider fails until the time is over is not judged', async () => {
  const model = await startModel(pays, () => ({ status: 503, body: { error: { message: 'Later.' } } }))
  const access = await findModel('openai:scripted', environment(model.url))
  const trial = await trialBy(modelAgent(access, limits), scenarioWith(rollsScenario), {
    bounds: { ms: 3_000, calls: 10 },
    openFolder: async () => ({ path: folder, remove: async () => {} }),
  })
  expect(trial).toMatchObject({
    ended: 'provider_failed',
    trouble: 'Requests still failed when the trial ended: HTTP 503.',
  })
})

describe('payments-mcp rehearse --model', () => {
  const environmentOf = (model: ScriptedModel) => ({ PATH: process.env.PATH, HOME: folder, ...environment(model.url) })

  async function rehearse(args: readonly string[], env: Record<string, string | undefined>, program = cli) {
    const child = spawn(process.execPath, [program, 'rehearse', ...args], { cwd: folder, env })
    const output = Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await once(child, 'exit')
    const [stdout, stderr] = await output
    return { code, stdout, stderr }
  }

  const file = join(folder, 'scenarios.yaml')
  const written = { title: 'Rolls', world: smallWorld, ...rollsScenario }
  writeFileSync(file, stringify({ one: written, two: written }))
  const model = (name: string) => ['--model', name, '--scenarios', file, '--concurrency', '1', '--require', '0.6']

  test('a trial whose provider failed is not judged, and counts as not passed for --require', async () => {
    const scripted = await startModel(pays, (nth, headers) =>
      nth > 2 ? { status: 401, body: { error: { message: `Not a key: ${headers['x-api-key']}` } } } : undefined,
    )
    const ended = await rehearse([...model('anthropic:scripted'), '--price', '3/15'], environmentOf(scripted))
    expect(ended.code).toBe(1)
    // The SDK warns at each request, but the command prints the warning only once.
    expect(ended.stderr).toMatch(/^payments-mcp: scripted: maxOutputTokens: The model .*\n$/)
    expect(ended.stdout).toMatch(/^passed +1 of 1 /m)
    expect(ended.stdout).toMatch(/^two .* 0 of 0, 1 not judged .*-$/m)
    expect(ended.stdout).toContain(
      "Not judged: in 1 trial the model's provider failed. Percentages leave out such trials.",
    )
    expect(ended.stdout).toMatch(/^model +2 tokens in, 2 out, \$0\.0000$/m)
    const report = join(folder, 'rehearsal')
    const files = readdirSync(report).map((name) => readFileSync(join(report, name), 'utf8'))
    for (const content of [...files, ended.stdout]) expect(content).not.toContain(key)
    const results: Results = JSON.parse(readFileSync(join(report, 'results.json'), 'utf8'))
    expect(results).toMatchObject({
      agent: 'anthropic:scripted',
      model: { maxSteps: 60, price: { input: 3, output: 15 } },
      summary: { notJudged: 1, passed: { passed: 1, of: 1 }, usage: { costMicrodollars: 36 } },
    })
    expect(readFileSync(join(report, 'report.html'), 'utf8')).toContain('– Not judged')
    expect(readFileSync(join(report, 'junit.xml'), 'utf8')).toContain('type="provider_failed"')

    const regraded = regrade(readResults(JSON.stringify(results), 'results.json'), [])
    expect(resultsTable(regraded)).toMatch(/^passed +1 of 1 /m)
    expect(regraded).toMatchObject({ model: results.model, summary: { notJudged: 1, usage: results.summary.usage } })
  })

  test.runIf(isDeep)('a provider that fails in every trial is reported in one line, with exit code 2', async () => {
    const scripted = await startModel(pays, () => ({ status: 404, body: { error: { message: 'No such model.' } } }))
    const ended = await rehearse(model('openai:other'), environmentOf(scripted))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toBe(
      'payments-mcp: --model got "openai:other", whose provider failed in every trial: HTTP 404: No such model. The report is rehearsal/report.html.\n',
    )
  })

  test.runIf(isDeep)('if a package is missing, the error has the command that installs it', async () => {
    const alone = join(folder, 'alone')
    cpSync(dirname(dirname(cli)), alone, { recursive: true })
    const env = { PATH: process.env.PATH, HOME: folder, OPENAI_API_KEY: key }
    const ended = await rehearse(model('openai:scripted'), env, join(alone, 'server/cli.js'))
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toBe(
      `payments-mcp: --model got "openai:scripted", which needs packages that are not installed. Where payments-mcp is installed, run npm install 'ai@${modelPackages.ai}' '@ai-sdk/openai@${modelPackages['@ai-sdk/openai']}' (with -g for a global installation).\n`,
    )
  })
})

describe('unusable model options', () => {
  it.each([
    ['openai:gpt', 'which needs a key: set OPENAI_API_KEY.'],
    ['anthropic:claude', 'which needs a key: set ANTHROPIC_API_KEY.'],
    ['google:gemini', 'which needs a key: set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY.'],
    ['gpt', '--model got "gpt"; it accepts openai:NAME, anthropic:NAME, google:NAME, or URL#NAME'],
    ['openai:', '--model got "openai:"; it accepts '],
    ['toString:gpt', '--model got "toString:gpt"; it accepts '],
    ['http://models.example/v1#gpt', '--model got a URL that cannot be used; it accepts '],
    ['http://127.0.0.1:9/v1', '--model got a URL that cannot be used; it accepts '],
  ])('without environment variables, --model %s is refused', async (modelName, words) => {
    await expect(findModel(modelName, {})).rejects.toThrow(words)
  })

  it('a model address with a password is refused, and the message does not repeat the password', async () => {
    const refused = await findModel('https://me:hidden-word@models.example/v1#gpt', {}).catch(({ message }) => message)
    expect(refused).toMatch(/without credentials/)
    expect(refused).not.toContain('hidden-word')
  })

  const options = [
    [['--model', 'openai:gpt', '--agent', 'careful'], 'Give --model or --agent, not both.'],
    [['--model', 'openai:gpt', '--temperature', '3'], '--temperature got "3"; it accepts a number from 0 to 2'],
    [['--model', 'openai:gpt', '--price', '3'], '--price got "3"; it accepts dollars per million tokens'],
    [['--model', 'openai:gpt', '--max-steps', '0'], '--max-steps got "0"; it accepts an integer from 1 to 1000.'],
    [['--agent', 'careful', '--price', '1/2'], '--price works only with --model.'],
    [['--model', 'openai:gpt', '--regrade', 'rehearsal'], 'remove --model.'],
  ] as const
  // Each case starts a process, so the quick run tries only one.
  it.each(sampleOf(options, 6))('the options %j are refused with a one-line message', async (args, words) => {
    const child = spawn(process.execPath, [cli, 'rehearse', ...args], { cwd: folder, env: { PATH: process.env.PATH } })
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(stderr).toContain(words)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(code).toBe(2)
  })
})

test('the model packages are optional peer dependencies, in the versions that the install command names', () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  expect(peerDependencies).toEqual(modelPackages)
  expect(peerDependenciesMeta).toEqual(
    Object.fromEntries(Object.keys(modelPackages).map((name) => [name, { optional: true }])),
  )
})
