import { agentKeys } from '../../../tools/agent-keys.ts'
import { webhooks } from '../../../tools/webhooks.ts'
import { Failure } from '../../core/errors.ts'
import type { Dependencies } from '../dependencies.ts'
import type { ToolCall } from '../people/decide.ts'
import { newKey } from '../people/elicitation.ts'
import { type RecordState, statusOf } from './created-records.ts'
import { operationNamed } from './offered-operations.ts'

/**
 * The error with which a repeated call is refused if its recorded answer is obsolete. The error says why the answer is
 * obsolete, and which call to make instead.
 */
export class ObsoleteAnswer extends Failure {
  readonly next: string

  constructor(advice: { detail: string; next: string }) {
    super('conflict', { detail: advice.detail })
    this.next = advice.next
  }
}

/** Explains why an answer is obsolete, and what to do; returns undefined if any of its records is still useful. */
export function explainObsolete(
  dependencies: Dependencies,
  call: ToolCall,
  states: readonly RecordState[],
  when: string,
): { detail: string; next: string } | undefined {
  if (states.length === 0 || states.some(({ obsolete }) => obsolete === undefined)) return undefined
  const records = states.slice(0, maxListed).map(({ answered, obsolete }) => `${answered.id}, which ${obsolete}`)
  const more = states.length > maxListed ? `, and ${states.length - maxListed} more that are obsolete too` : ''
  const detail = `${when} was answered with ${records.join('; ')}${more}. Nothing was done now.`
  return { detail, next: [remedy(dependencies, states), adviceForAnother(dependencies, call, states)].join('').trim() }
}

/** Describes how the records have changed since the answer was recorded. Returns an empty string if they have not. */
export function changesInWords(states: readonly RecordState[]): string {
  const changed = states.filter(({ answered, now, obsolete }) => {
    return obsolete !== undefined || (now != null && statusOf(now) !== statusOf(answered))
  })
  return changed
    .slice(0, maxListed)
    .map(({ answered, now, obsolete }) => ` ${answered.id} ${obsolete ?? `is ${statusOf(now)} now`}.`)
    .join('')
}

/** The maximum number of ids to list. More would not help a model. */
const maxListed = 3

/** The calls that make a suspended record usable again, keyed by the record's type and status. */
const reactivations: Readonly<Record<string, { tool: string; call: string }>> = {
  'agentCard frozen': { tool: 'unfreeze_agent_card', call: 'unfreeze_agent_card' },
  'wallet frozen': { tool: 'unfreeze_wallet', call: 'unfreeze_wallet' },
  'webhook DISABLED': { tool: 'update_webhook', call: 'update_webhook with status ENABLED' },
}

function remedy(dependencies: Dependencies, [state, ...others]: readonly RecordState[]): string {
  if (state == null || others.length > 0) return ''
  const { answered, now } = state
  const way = reactivations[`${answered.type} ${statusOf(now)}`]
  if (way === undefined || operationNamed(dependencies.choice, way.tool) === undefined) return ''
  return `To continue with it, call ${way.call}. `
}

function adviceForAnother(dependencies: Dependencies, call: ToolCall, [state]: readonly RecordState[]): string {
  const { operation, input, held } = call
  const { answered, now, obsolete } = state as RecordState
  if (obsolete?.endsWith(' was deleted') === true) return 'To use another agent, call list_agents.'
  const agent = answered.relationships?.agent?.data?.id
  const key = JSON.stringify(newKey(dependencies))
  // An agent key can be rotated only once, and this key was already rotated.
  if (operation.name === agentKeys.rotateAgentKey.name && agent !== undefined) {
    return `To get another key, call create_agent_key with agentId ${JSON.stringify(agent)} and idempotencyKey ${key}.`
  }
  if (operation.name === webhooks.rotateWebhookSecret.name && now === null) {
    const { url, enabledEvents } = answered.attributes
    const same = `url ${JSON.stringify(url)}, enabledEvents ${JSON.stringify(enabledEvents)}`
    return `To get another webhook, call create_webhook with ${same} and idempotencyKey ${key}.`
  }
  const isExpired = statusOf(now) === 'EXPIRED' || answered.type === 'invitationLink'
  if (isExpired && typeof input.expiresAt === 'string' && statusOf(now) !== 'REVOKED') {
    return `To get a new one, call ${operation.name} again with a later expiresAt.`
  }
  const undecided = held === undefined ? '' : ', without decision'
  return `To do it once more on purpose, call ${operation.name} again with the same arguments and idempotencyKey ${key}${undecided}.`
}
