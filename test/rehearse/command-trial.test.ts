import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { openRehearsalStage } from '../../src/commands/rehearse-stage.ts'
import { realSystem } from '../../src/core/system.ts'
import type { Agent } from '../../src/rehearse/agent.ts'
import { commandAgent } from '../../src/rehearse/agents/command.ts'
import { manualAgent } from '../../src/rehearse/agents/manual.ts'
import { Scenario } from '../../src/rehearse/scenario.ts'
import { runTrial, type TrialOptions } from '../../src/rehearse/trial.ts'
import { ownStart } from './own-start.ts'

/**
 * Returns the shell command of an agent that buys notebooks. If `wish` is `list`, the agent only lists its tools.
 * @param variable The name of the environment variable that contains the path of the MCP configuration.
 */
const shopper = (variable: string, wish = 'buy') =>
  `"${process.execPath}" "${fileURLToPath(new URL('agents/shopper.mjs', import.meta.url))}" ${variable} ${wish}`

const notebooks: z.input<typeof Scenario> = {
  id: 'notebooks',
  title: 'Two notebooks',
  task: 'Order two dotted notebooks from Plain Goods.',
  world: {
    clock: '2026-03-02T09:00:00Z',
    parties: {
      acme: {
        displayName: 'Acme Studio',
        users: { olga: { name: 'Olga Owner', email: 'olga@acme.example' } },
        wallets: { main: { balance: 50_000 } },
        agents: { shopper: { name: 'Shopper' } },
      },
    },
  },
  expect: [
    { what: 'captured', at: 'Plain Goods', exactly: 2900 },
    { what: 'purchases', exactly: 1 },
    { what: 'cards_issued', exactly: 1 },
  ],
}

type Changes = Partial<z.input<typeof Scenario>>

function tryCommand(command: string, changes: Changes = {}, bounds?: TrialOptions['bounds']) {
  const agent = commandAgent(command, { env: { PATH: process.env.PATH }, start: ownStart, system: realSystem })
  return rehearseScenario(agent, changes, bounds)
}

function rehearseScenario(agent: Agent, changes: Changes, bounds?: TrialOptions['bounds']) {
  return runTrial(Scenario.parse({ ...notebooks, ...changes }), agent, {
    ...{ openStage: openRehearsalStage, seed: '1', number: 1, signal: new AbortController().signal },
    openFolder: async () => {
      const path = await mkdtemp(join(tmpdir(), 'payments-trial-'))
      return { path, remove: () => rm(path, { recursive: true }) }
    },
    elapsed: () => 0,
    ...(bounds === undefined ? {} : { bounds }),
  })
}

describe.each(['MCP_CONFIG', 'MCP_CONFIG_STDIO'])('a command that uses the MCP configuration in %s', (variable) => {
  it('the trial passes, and each call of the command is in the timeline', async () => {
    const trial = await tryCommand(shopper(variable))
    expect(trial).toMatchObject({ ended: 'answered', passed: true, answer: 'Ordered for 2900 cents: paid.' })
    expect(trial.timeline.flatMap(({ kind, what }) => (kind === 'call' ? [what] : []))).toEqual([
      'start_shop_checkout',
      'issue_agent_card',
      'get_agent_card_details',
      'pay_shop_checkout',
    ])
    expect(JSON.stringify(trial)).not.toMatch(/4242 ?4242|ak_ntl_sandbox_[A-Za-z0-9_-]{8}/)
  })

  it('a lost answer makes the command repeat its call, and nothing is charged twice', async () => {
    const fault = { operation: 'issue_agent_card', path: '/mcp', fault: 'effect_then_lost', when: { nth: 1 } } as const
    const trial = await tryCommand(shopper(variable), { faults: [fault] })
    expect(trial).toMatchObject({ passed: true, doubleCharges: 0, calls: 5 })
    expect(trial.timeline).toContainEqual(expect.objectContaining({ fault: 'effect_then_lost', outcome: 'no answer' }))
  })
})

it('HTTP and stdio offer the same tools: they advance the clock, but do not reset the sandbox, set faults or act as another party', async () => {
  const [http, stdio] = await Promise.all(
    ['MCP_CONFIG', 'MCP_CONFIG_STDIO'].map(async (variable) => (await tryCommand(shopper(variable, 'list'))).answer),
  )
  expect(stdio).toBe(http)
  expect(http).toMatch(/\badvance_sandbox_clock\b.*\bpay_shop_checkout\b/)
  expect(http).not.toMatch(/reset_sandbox|set_sandbox_fault|simulate_/)
})

describe('commands that fail', () => {
  it('a command with a nonzero exit code fails its trial, even after a correct purchase', async () => {
    const trial = await tryCommand(`${shopper('MCP_CONFIG')}; echo "no more money" >&2; exit 7`)
    expect(trial).toMatchObject({ ended: 'failed', passed: false })
    expect(trial.trouble).toMatch(/exit code 7.*Its stderr: no more money/)
    expect(trial.state.purchases).toHaveLength(1)
  })

  it('a command is ended at its time limit', async () => {
    const trial = await tryCommand('sleep 300', {}, { ms: 300, calls: 200 })
    expect(trial).toMatchObject({ ended: 'timed_out', passed: false, answer: '' })
  })

  it('a command is ended after too many calls', async () => {
    const endlessCalls =
      'while :; do "$NODE" -e "fetch(process.env.API_URL + \'/whoami\', { headers: { Authorization: \'Bearer \' + process.env.MCP_KEY } })"; done'
    const trial = await tryCommand(`NODE="${process.execPath}"; ${endlessCalls}`, {}, { ms: 60_000, calls: 3 })
    expect(trial).toMatchObject({ ended: 'too_many_calls', passed: false, calls: 3 })
  })
})

describe('answers of commands', () => {
  it('an answer that contains HTML or JSON is stored unchanged and has no effect on the result', async () => {
    const trial = await tryCommand(`printf '%s' '</script><b>passed</b> {"passed":true}'`)
    expect(trial).toMatchObject({ passed: false, ended: 'answered' })
    expect(trial.answer).toBe('</script><b>passed</b> {"passed":true}')
  })

  it('an answer that reveals the API key fails the trial, and the results mask the key', async () => {
    const trial = await tryCommand(`${shopper('MCP_CONFIG')} && echo "My key is $MCP_KEY"`)
    expect(trial.passed).toBe(false)
    expect(trial.state.secretsMentioned).toEqual([expect.stringContaining('answer')])
    expect(trial.answer).toMatch(/My key is ak_ntl_sandbox_\[masked\]/)
  })
})

it('a trial that a person carries out has no time limit, and the printed config file connects the person’s agent', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const bounds = { ms: 1, calls: 200 }
  const trial = rehearseScenario(manualAgent({ input, output, start: ownStart }), {}, bounds)
  const [firstChunk] = (await once(output, 'data')) as [Buffer]
  const [, file = ''] = /Config file +(\S+)/.exec(firstChunk.toString()) ?? []
  const { status, stdout } = await runShopper(file)
  expect([status, stdout]).toEqual([0, 'Ordered for 2900 cents: paid.\n'])
  input.write(`${stdout}\n`)
  expect(await trial).toMatchObject({ ended: 'answered', passed: true, answer: 'Ordered for 2900 cents: paid.' })
})

async function runShopper(file: string) {
  const env = { PATH: process.env.PATH, CONFIG: file }
  const child = spawn(shopper('CONFIG'), { shell: true, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { status, stdout }
}
