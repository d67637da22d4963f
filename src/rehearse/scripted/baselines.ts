import { type Agent, AgentError, type Given } from '../agent.ts'
import type { Goal } from '../goal.ts'
import { carefully } from './careful.ts'
import { gullibly } from './gullible.ts'
import { repeatingBlindly } from './repeats-blindly.ts'
import { inWords } from './steps.ts'
import { type Tools, withTools } from './tools.ts'

/** The package's agents, as a baseline for the results of other agents (docs/rehearse.md#baselines). */
export const baselines = {
  careful: scripted('careful', carefully),
  gullible: scripted('gullible', (tools, goal, { key }) => gullibly(tools, goal, key)),
  'repeats-blindly': scripted('repeats-blindly', repeatingBlindly),
  'refuses-everything': {
    name: 'refuses-everything',
    isScripted: true,
    run: async () => 'I cannot help with that. Nothing was done.',
  },
} as const satisfies Record<string, Agent>

export type Baseline = keyof typeof baselines

function scripted(name: string, work: (tools: Tools, goal: Goal, given: Given) => Promise<string>): Agent {
  const run = async (given: Given, signal: AbortSignal) => {
    const { goal } = given
    if (goal === undefined) {
      throw new AgentError(`${name} does not read tasks: give the scenario a goal, which says the same to programs.`)
    }
    return withTools(given, signal, (tools) => inWords(() => work(tools, goal, given)))
  }
  return { name, isScripted: true, run }
}
