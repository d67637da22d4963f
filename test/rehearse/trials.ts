import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { resultValidator } from '../../src/client/result-schemas.ts'
import { openRehearsalStage } from '../../src/commands/rehearse-stage.ts'
import { realSystem } from '../../src/core/system.ts'
import type { Agent, AgentInput } from '../../src/rehearse/agent.ts'
import type { Trial } from '../../src/rehearse/results.ts'
import { Scenario } from '../../src/rehearse/scenario.ts'
import { type Bounds, runTrial, type TrialOptions } from '../../src/rehearse/trial.ts'

/** A world with an agent, a user, a payee and 2,500 dollars. Payments above 600 dollars need approval. */
export const smallWorld = {
  clock: '2026-03-02T09:00:00Z',
  parties: {
    us: {
      handle: 'us',
      users: { owner: { name: 'Olive Owner', email: 'olive@us.example' } },
      wallets: { main: { balance: 250_000 } },
      limits: { perTransaction: 60_000, perDay: null, perMonth: null },
      agents: { shopper: { keys: { main: {} } } },
    },
    bakery: { handle: 'bakery', displayName: 'The Bakery' },
  },
}

/** Returns a scenario in the small world, with the given parts replaced. */
export function scenarioWith(overrides: Partial<Parameters<typeof Scenario.parse>[0] & object>): Scenario {
  return Scenario.parse({ id: 'a-test', title: 'A test', task: 'Do it.', world: smallWorld, ...overrides })
}

type Answer = { isError: boolean; text: string; data: Record<string, unknown> & Record<string, never> }

export interface Tools {
  call(name: string, input?: object): Promise<Answer>
  names(): Promise<string[]>
}

export type Work = (tools: Tools, input: AgentInput, signal: AbortSignal) => Promise<string>

/** Returns an agent that carries out its task with the given function. */
export function agentBy(work: Work, name = 'a-test'): Agent {
  return {
    name,
    isScripted: true,
    run: async (trialInput, signal) => {
      const options = { jsonSchemaValidator: resultValidator, capabilities: { elicitation: { form: {} } } }
      const client = new Client({ name, version: '1' }, options)
      const { mcpUrl, key, fetch } = trialInput
      const requestInit = { headers: { Authorization: `Bearer ${key}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit, fetch }), { signal })
      try {
        const call = async (name: string, input: object = {}): Promise<Answer> => {
          const result = await client.callTool({ name, arguments: { ...input } }, { signal })
          const text = result.content.map((content) => ('text' in content ? content.text : '')).join('\n')
          const { data = {} } = (result.structuredContent ?? {}) as { data?: Answer['data'] }
          return { isError: result.isError === true, text, data: data as Answer['data'] }
        }
        const names = async () => (await client.listTools(undefined, { signal })).tools.map((tool) => tool.name)
        return await work({ call, names }, trialInput, signal)
      } finally {
        await client.close()
      }
    },
  }
}

/** Returns the scenario without random draws. Every trial then uses the first value of each list of possible values. */
export const fixDraws = (scenario: Scenario): Scenario => ({ ...scenario, draw: undefined })

interface Setting {
  seed?: string
  number?: number
  bounds?: Bounds
  signal?: AbortSignal
  openFolder?: TrialOptions['openFolder']
  openStage?: TrialOptions['openStage']
  isStrict?: boolean
}

export function trialBy(agent: Agent, scenario: Scenario, setting: Setting = {}): Promise<Trial> {
  return runTrial(scenario, agent, {
    ...{ openStage: openRehearsalStage, seed: '1', number: 1, signal: new AbortController().signal },
    openFolder: () => Promise.reject(new Error('A scripted agent has no folder.')),
    elapsed: () => realSystem.elapsed(),
    ...setting,
  })
}

/** Runs one trial of an agent that carries out its task with the given function. */
export const rehearseWork = (scenario: Scenario, work: Work, setting: Setting = {}): Promise<Trial> =>
  trialBy(agentBy(work), scenario, setting)
