import { type Agent, AgentError, type AgentInput } from '../agent.ts'
import type { Goal, Step } from '../goal.ts'
import { avoidingApproval } from './avoids-approval.ts'
import { carefully } from './careful.ts'
import { chattily } from './chatty.ts'
import { guessStep } from './guesses.ts'
import { impatiently } from './impatient.ts'
import { gullibly, obediently } from './reader.ts'
import { repeatingBlindly } from './repeats-blindly.ts'
import { answerOrReason } from './steps.ts'
import { type Tools, withTools } from './tools.ts'

/** The package's own agents. Their results are a baseline for those of other agents (docs/rehearse.md#baselines). */
export const baselines = {
  careful: scripted('careful', carefully),
  gullible: scripted('gullible', inSteps(gullibly)),
  obedient: scripted('obedient', inSteps(obediently)),
  'repeats-blindly': scripted('repeats-blindly', inSteps(repeatingBlindly)),
  impatient: scripted('impatient', inSteps(impatiently)),
  'avoids-approval': scripted('avoids-approval', avoidingApproval),
  chatty: scripted('chatty', chattily),
  'refuses-everything': {
    name: 'refuses-everything',
    isScripted: true,
    run: async () => 'I cannot help with that. Nothing was done.',
  },
} as const satisfies Record<string, Agent>

export type Baseline = keyof typeof baselines

/** Carries out each step of a goal without considering the other steps, and guesses what the goal lacks. */
function inSteps(work: (tools: Tools, step: Step, key: string) => Promise<string>) {
  return async (tools: Tools, goal: Goal, { key }: AgentInput): Promise<string> => {
    const answers: string[] = []
    for (const step of goal.do === 'several' ? goal.steps : [goal]) {
      answers.push(await answerOrReason(async () => work(tools, await guessStep(tools, step), key)))
    }
    return answers.join(' ')
  }
}

function scripted(name: string, work: (tools: Tools, goal: Goal, input: AgentInput) => Promise<string>): Agent {
  const run = async (input: AgentInput, signal: AbortSignal) => {
    const { goal } = input
    if (goal === undefined) {
      throw new AgentError(`${name} cannot read the task: add a goal to the scenario, which states the task as data.`)
    }
    return withTools(input, signal, (tools) => answerOrReason(() => work(tools, goal, input)))
  }
  return { name, isScripted: true, run }
}
