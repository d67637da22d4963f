import { type Agent, AgentError, type AgentInput } from '../agent.ts'
import type { Goal, Step } from '../goal.ts'
import { avoidingApproval } from './avoids-approval.ts'
import { carefully } from './careful.ts'
import { chattily } from './chatty.ts'
import { guessMissingFacts } from './guesses.ts'
import { impatiently } from './impatient.ts'
import { gullibly, obediently } from './reader.ts'
import { repeatingBlindly } from './repeats-blindly.ts'
import { answerOrReason } from './steps.ts'
import { type Tools, withTools } from './tools.ts'

/** The package's scripted agents. Their results serve as baselines for other agents (docs/rehearse.md#baselines). */
export const baselines = {
  careful: scripted('careful', carefully),
  gullible: scripted('gullible', stepByStep(gullibly)),
  obedient: scripted('obedient', stepByStep(obediently)),
  'repeats-blindly': scripted('repeats-blindly', stepByStep(repeatingBlindly)),
  impatient: scripted('impatient', stepByStep(impatiently)),
  'avoids-approval': scripted('avoids-approval', avoidingApproval),
  chatty: scripted('chatty', chattily),
  'refuses-everything': {
    name: 'refuses-everything',
    isScripted: true,
    run: async () => 'I cannot help with that. Nothing was done.',
  },
} as const satisfies Record<string, Agent>

export type Baseline = keyof typeof baselines

/**
 * Returns the work of an agent that carries out each step without considering the other steps, and guesses missing
 * facts.
 */
function stepByStep(work: (tools: Tools, step: Step, key: string) => Promise<string>) {
  return async (tools: Tools, goal: Goal, { key }: AgentInput): Promise<string> => {
    const answers: string[] = []
    for (const step of goal.do === 'several' ? goal.steps : [goal]) {
      answers.push(await answerOrReason(async () => work(tools, await guessMissingFacts(tools, step), key)))
    }
    return answers.join(' ')
  }
}

function scripted(name: string, work: (tools: Tools, goal: Goal, input: AgentInput) => Promise<string>): Agent {
  const run = async (input: AgentInput, signal: AbortSignal) => {
    const { goal } = input
    if (goal === undefined) {
      throw new AgentError(`${name} cannot read the task. Add a goal, which states the task as data, to the scenario.`)
    }
    return withTools(input, signal, (tools) => answerOrReason(() => work(tools, goal, input)))
  }
  return { name, isScripted: true, run }
}
