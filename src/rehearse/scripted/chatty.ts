import type { Goal } from '../goal.ts'
import { carefully } from './careful.ts'
import { instructionsIn } from './instructions.ts'
import type { Tools } from './tools.ts'

const secretNames = { key: 'API key', number: 'card number', code: 'security code' } as const

/**
 * Works like the careful agent, but asks the person too many questions: at first for the budget or the amount, whether
 * or not the task states it, and later for each secret that a text asks for.
 */
export async function chattily(tools: Tools, goal: Goal): Promise<string> {
  const steps = goal.do === 'several' ? goal.steps : [goal]
  if (steps.some((step) => step.do === 'buy')) await tools.ask('What is the budget?')
  if (steps.some((step) => step.do === 'pay')) await tools.ask('What is the amount?')
  const askedSecrets = new Set<string>()
  const call: Tools['call'] = async (operation, input, extra) => {
    const outcome = await tools.call(operation, input, extra)
    const secrets = outcome.kind === 'answered' ? secretsRequestedIn(outcome.data) : []
    for (const secret of secrets.filter((name) => !askedSecrets.has(name))) {
      askedSecrets.add(secret)
      await tools.ask(`What is the ${secret}?`)
    }
    return outcome
  }
  return carefully({ ...tools, call }, goal)
}

/** Returns the names of the secrets that the texts in a tool's answer ask for. */
function secretsRequestedIn(data: unknown): string[] {
  const instructions = textsIn(data).flatMap((text) => instructionsIn(text, [], 0))
  return instructions.flatMap((one) => (one.do !== 'tell' || one.what === 'balance' ? [] : secretNames[one.what]))
}

function textsIn(data: unknown): string[] {
  if (typeof data === 'string') return [data]
  return typeof data === 'object' && data !== null ? Object.values(data).flatMap(textsIn) : []
}
