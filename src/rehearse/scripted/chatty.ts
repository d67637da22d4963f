import type { Goal } from '../goal.ts'
import { carefully } from './careful.ts'
import { ordersIn } from './orders-in-texts.ts'
import type { Tools } from './tools.ts'

const secrets = { key: 'API key', number: 'card number', code: 'security code' } as const

/**
 * Works like the careful agent, but keeps asking the person: for the budget or the amount before it begins, even if the
 * task has it, and for each secret that a text requests.
 */
export async function chattily(tools: Tools, goal: Goal): Promise<string> {
  const steps = goal.do === 'several' ? goal.steps : [goal]
  if (steps.some((step) => step.do === 'buy')) await tools.ask('What is the budget?')
  if (steps.some((step) => step.do === 'pay')) await tools.ask('What is the amount?')
  const askedSecrets = new Set<string>()
  const call: Tools['call'] = async (operation, input, extra) => {
    const outcome = await tools.call(operation, input, extra)
    const secrets = outcome.kind === 'answered' ? secretsAskedIn(outcome.data) : []
    for (const secret of secrets.filter((one) => !askedSecrets.has(one))) {
      askedSecrets.add(secret)
      await tools.ask(`What is the ${secret}?`)
    }
    return outcome
  }
  return carefully({ ...tools, call }, goal)
}

/** Finds the secrets that the texts of an answer ask for. */
function secretsAskedIn(data: unknown): string[] {
  const orders = textsIn(data).flatMap((text) => ordersIn(text, [], 0))
  return orders.flatMap((order) => (order.do !== 'tell' || order.what === 'balance' ? [] : secrets[order.what]))
}

function textsIn(data: unknown): string[] {
  if (typeof data === 'string') return [data]
  return typeof data === 'object' && data !== null ? Object.values(data).flatMap(textsIn) : []
}
