import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { commandAgent } from '../../src/rehearse/agents/command.ts'
import type { Results } from '../../src/rehearse/results.ts'
import { createSandbox } from '../../src/testing/sandbox.ts'
import { newHome, signedInHosts, writeFiles } from './hosts.ts'
import { idIn, type Step } from './model/script.ts'
import { scriptedModel } from './model/server.ts'
import { shoppers } from './model/shopper.ts'

// These tests run the recipes of docs/rehearse.md unchanged, with real hosts and a scripted model.
const document = readFileSync(new URL('../../docs/rehearse.md', import.meta.url), 'utf8')
const recipes = [...document.matchAll(/^\*\*(.+?)\*\*.*\n\n```sh\npayments-mcp rehearse --agent '(.+)'\n```$/gm)].map(
  ([, host = '', command = '']) => ({ host, command }),
)

const start = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../../src/cli.ts', import.meta.url))],
  env: {},
}
const programs = fileURLToPath(new URL('node_modules/.bin', import.meta.url))

const merchant = { name: 'Plain Goods' }
const purchase: Step[] = [
  { call: 'issue_agent_card', arguments: () => ({ merchant, maximumAmount: 5000 }) },
  {
    call: 'simulate_card_authorization',
    arguments: (results) => ({ cardId: idIn(results, 'pcd'), amount: 4250, merchant }),
  },
  { say: () => 'Bought the book.' },
]

const cli = start.args[0] ?? ''

let cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo()
  cleanUp = []
})

test('docs/rehearse.md has a recipe for each of the three hosts', () => {
  expect(recipes.map(({ host }) => host)).toEqual(Object.keys(signedInHosts))
})

/** Creates a home directory in which the host is signed in to the scripted model. */
function prepareHome(host: string, modelUrl: string) {
  const { home, remove } = newHome()
  cleanUp.push(remove)
  const { env = {}, files = {} } = signedInHosts[host]?.(modelUrl) ?? {}
  writeFiles(home, files)
  return { home, env: { PATH: [programs, process.env.PATH].join(delimiter), HOME: home, ...env } }
}

test.each(recipes)('with its recipe, $host pays only once even if an answer is lost', async ({ host, command }) => {
  const model = await scriptedModel(shoppers.careful)
  cleanUp.push(() => model.close())
  const { home, env } = prepareHome(host, model.url)
  const report = join(home, 'rehearsal')
  const args = ['rehearse', '--agent', command, '--scenarios', 'answer-lost', '--require', '1', '--report', report]
  const child = spawn(process.execPath, [cli, ...args], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  expect({ exitCode, stderr }, stdout).toEqual({ exitCode: 0, stderr: '' })
  const { scenarios }: Results = JSON.parse(readFileSync(join(report, 'results.json'), 'utf8'))
  expect(scenarios.flatMap(({ trials }) => trials)).toMatchObject([
    { passed: true, doubleCharges: 0, ended: 'answered' },
  ])
  const called = scenarios[0]?.trials[0]?.timeline.filter(({ what }) => what === 'create_payment') ?? []
  expect(called.map(({ outcome }) => outcome)).toEqual(['no answer', 'ok'])
})

test.each(recipes)('with its recipe, $host buys, and its last message is returned', async ({ host, command }) => {
  const model = await scriptedModel(purchase)
  const sandbox = await createSandbox()
  cleanUp.push(
    () => model.close(),
    () => sandbox.close(),
  )
  const { home, env } = prepareHome(host, model.url)
  const folder = join(home, 'trial')
  mkdirSync(folder)

  const agent = commandAgent(command, { env, start, system: realSystem })
  const { url, mcpUrl, keys, fetch } = sandbox
  const trial = {
    url,
    mcpUrl,
    shopsUrl: `${url}/shops`,
    key: keys.agent,
    fetch,
    folder,
    seed: '1',
    goal: undefined,
    askUrl: `${url}/ask`,
    notes: {},
    turns: [],
  }
  const task = 'Buy the "book" at Plain Goods;\nfor $40 at most.'
  expect(await agent.run({ ...trial, task }, AbortSignal.timeout(120_000))).toBe('Bought the book.')

  expect(JSON.stringify(model.requests[0])).toContain(JSON.stringify(task).slice(1, -1))
  const answer = await fetch('/card-transactions', { headers: { Authorization: `Bearer ${keys.agent}` } })
  expect(await answer.json()).toMatchObject({ data: [{ attributes: { status: 'authorized', amount: 4250 } }] })
})
