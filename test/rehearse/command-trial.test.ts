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

/** Returns the command of an agent, which reaches its world over this machine's network. */
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

type More = Partial<z.input<typeof Scenario>>

function trialOf(command: string, more: More = {}, bounds?: TrialOptions['bounds']) {
  const agent = commandAgent(command, { env: { PATH: process.env.PATH }, start: ownStart, system: realSystem })
  return rehearseScenario(agent, more, bounds)
}

function rehearseScenario(agent: Agent, more: More, bounds?: TrialOptions['bounds']) {
  return runTrial(Scenario.parse({ ...notebooks, ...more }), agent, {
    ...{ openStage: openRehearsalStage, seed: '1', number: 1, signal: new AbortController().signal },
    openFolder: async () => {
      const path = await mkdtemp(join(tmpdir(), 'payments-trial-'))
      return { path, remove: () => rm(path, { recursive: true }) }
    },
    elapsed: () => 0,
    ...(bounds === undefined ? {} : { bounds }),
  })
}

describe.each(['MCP_CONFIG', 'MCP_CONFIG_STDIO'])('a command that reads %s', (variable) => {
  it('passes, and each of its calls is in the timeline', async () => {
    const trial = await trialOf(shopper(variable))
    expect(trial).toMatchObject({ ended: 'answered', passed: true, answer: 'Ordered for 2900 cents: paid.' })
    expect(trial.timeline.flatMap(({ kind, what }) => (kind === 'call' ? [what] : []))).toEqual([
      'start_shop_checkout',
      'issue_agent_card',
      'get_agent_card_details',
      'pay_shop_checkout',
    ])
    expect(JSON.stringify(trial)).not.toMatch(/4242 ?4242|ak_ntl_sandbox_[A-Za-z0-9_-]{8}/)
  })

  it('meets the faults of the scenario', async () => {
    const fault = { operation: 'issue_agent_card', path: '/mcp', fault: 'effect_then_lost', when: { nth: 1 } } as const
    const trial = await trialOf(shopper(variable), { faults: [fault] })
    expect(trial).toMatchObject({ passed: true, doubleCharges: 0, calls: 5 })
    expect(trial.timeline).toContainEqual(expect.objectContaining({ fault: 'effect_then_lost', outcome: 'no answer' }))
  })
})

it('HTTP and stdio offer the same tools, and none that manages the sandbox or plays another party', async () => {
  const [http, stdio] = await Promise.all(
    ['MCP_CONFIG', 'MCP_CONFIG_STDIO'].map(async (variable) => (await trialOf(shopper(variable, 'tell'))).answer),
  )
  expect(stdio).toBe(http)
  expect(http).toMatch(/\badvance_sandbox_clock\b.*\bpay_shop_checkout\b/)
  expect(http).not.toMatch(/reset_sandbox|set_sandbox_fault|simulate_/)
})

describe('a command that does not end well', () => {
  it('fails its trial with a nonzero exit code, whatever it did before', async () => {
    const trial = await trialOf(`${shopper('MCP_CONFIG')}; echo "no more money" >&2; exit 7`)
    expect(trial).toMatchObject({ ended: 'failed', passed: false })
    expect(trial.trouble).toMatch(/exit code 7.*Its stderr: no more money/)
    expect(trial.state.purchases).toHaveLength(1)
  })

  it('is ended when its time is over', async () => {
    const trial = await trialOf('sleep 300', {}, { ms: 300, calls: 200 })
    expect(trial).toMatchObject({ ended: 'timed_out', passed: false, answer: '' })
  })

  it('is ended when it made too many calls', async () => {
    const ask =
      'while :; do "$NODE" -e "fetch(process.env.API_URL + \'/whoami\', { headers: { Authorization: \'Bearer \' + process.env.MCP_KEY } })"; done'
    const trial = await trialOf(`NODE="${process.execPath}"; ${ask}`, {}, { ms: 60_000, calls: 3 })
    expect(trial).toMatchObject({ ended: 'too_many_calls', passed: false, calls: 3 })
  })
})

describe('the answer of a command', () => {
  it('is text, whatever it contains', async () => {
    const trial = await trialOf(`printf '%s' '</script><b>passed</b> {"passed":true}'`)
    expect(trial).toMatchObject({ passed: false, ended: 'answered' })
    expect(trial.answer).toBe('</script><b>passed</b> {"passed":true}')
  })

  it('fails the trial if it reveals the key, which no report shows', async () => {
    const trial = await trialOf(`${shopper('MCP_CONFIG')} && echo "My key is $MCP_KEY"`)
    expect(trial.passed).toBe(false)
    expect(trial.state.secretsMentioned).toEqual([expect.stringContaining('answer')])
    expect(trial.answer).toMatch(/My key is ak_ntl_sandbox_\[masked\]/)
  })
})

it('a person has no time limit, and buys at the printed address', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const bounds = { ms: 1, calls: 200 }
  const waiting = rehearseScenario(manualAgent({ input, output, start: ownStart }), {}, bounds)
  const [firstChunk] = (await once(output, 'data')) as [Buffer]
  const [, file = ''] = /Config file +(\S+)/.exec(firstChunk.toString()) ?? []
  const { status, stdout } = await runShopper(file)
  expect([status, stdout]).toEqual([0, 'Ordered for 2900 cents: paid.\n'])
  input.write(`${stdout}\n`)
  expect(await waiting).toMatchObject({ ended: 'answered', passed: true, answer: 'Ordered for 2900 cents: paid.' })
})

async function runShopper(file: string) {
  const env = { PATH: process.env.PATH, CONFIG: file }
  const child = spawn(shopper('CONFIG'), { shell: true, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { status, stdout }
}
