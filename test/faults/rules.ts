import { expect } from 'vitest'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import type { Answer, Sent, World } from '../support/world.ts'

/** Sets a fault rule with the API key of the world's first party. */
export async function setFault(world: World, rule: FaultRule, sent: Sent = {}): Promise<Answer> {
  const answer = await world.post('/simulations/faults', rule, { key: world.apiKey, ...sent })
  expect(answer.status, answer.text).toBe(200)
  return answer
}

export async function clearFaults(world: World): Promise<void> {
  expect((await world.send('DELETE', '/simulations/faults', { key: world.apiKey })).status).toBe(200)
}

/**
 * Returns the number of requests that each rule matched and the number that it hit, by the id of the rule. Omits
 * built-in rules.
 */
export async function counts(world: World): Promise<Record<string, [matched: number, hits: number]>> {
  const { json } = await world.get('/simulations/faults', { key: world.apiKey })
  const rules = json.data as { id: string; attributes: { matched: number; hits: number; origin: string } }[]
  return Object.fromEntries(
    rules
      .filter(({ attributes }) => attributes.origin !== 'built_in')
      .map(({ id, attributes: { matched, hits } }) => [id, [matched, hits]]),
  )
}

/**
 * Returns `cut` if the connection was cut. Otherwise returns the status, and after it the error code, the length of the
 * list, or `one` for a single record.
 */
export async function outcome(request: Promise<Answer>): Promise<string> {
  try {
    const { status, json } = await request
    return `${status} ${json.errors?.[0].code ?? (Array.isArray(json.data) ? json.data.length : 'one')}`
  } catch (error) {
    if ((error as Error).name === 'ConnectionCutError') return 'cut'
    throw error
  }
}
