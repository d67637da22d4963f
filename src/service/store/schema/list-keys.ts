import { sha256 } from '../../../core/system.ts'
import type { ActivityRow } from './activity.ts'

/** Numbers that stand for several texts in an index: an eighth of their length. Each is below 2^53, as a number can be. */

/** What stands for an agent and the wallet that its card is on. */
export function holderKey(agentId: string, walletId: string): number {
  return hashOf(['holder', agentId, walletId])
}

/** What narrows the activity of a party. A resource and a run are not asked for together. */
export interface ActivityNarrowing {
  agentId: string | null
  instanceId: string | null
  resourceId: string | null
}

/** The key under which the rows of a narrowing are found; null: it narrows nothing. */
export function activityKey(partyId: string, { agentId, instanceId, resourceId }: ActivityNarrowing): number | null {
  if (agentId === null && instanceId === null && resourceId === null) return null
  const hash = hashOf(['activity', partyId, agentId, instanceId, resourceId])
  const made = resourceId === null ? undefined : secondsIn(resourceId)
  // What is made at one time is told of at about that time: its keys lie close together, and few pages of the index are
  // written to.
  return made === undefined ? hash : (made % 2 ** 32) * 2 ** 20 + (hash % 2 ** 20)
}

/** All keys under which a row is to be found. */
export function activityKeys(row: Pick<ActivityRow, 'partyId' | 'agentId' | 'instanceId' | 'resourceIds'>): number[] {
  const { partyId, agentId, instanceId } = row
  const resources = JSON.parse(row.resourceIds) as string[]
  const agents = agentId === null ? [null] : [null, agentId]
  const narrowings = agents.flatMap((agent) => [
    { agentId: agent, instanceId: null, resourceId: null },
    ...(instanceId === null ? [] : [{ agentId: agent, instanceId, resourceId: null }]),
    ...resources.map((resourceId) => ({ agentId: agent, instanceId: null, resourceId })),
  ])
  const keys = narrowings.map((narrowing) => activityKey(partyId, narrowing))
  return [...new Set(keys.filter((key) => key !== null))]
}

/** When the record with the id was made; undefined where the id does not tell. */
function secondsIn(id: string): number | undefined {
  const time = /^[a-z]{3}_([0-9a-f]{12})[0-9a-f]{20}$/.exec(id)?.[1]
  return time === undefined ? undefined : Math.floor(Number.parseInt(time, 16) / 1000)
}

function hashOf(parts: readonly (string | null)[]): number {
  return Number.parseInt(sha256(JSON.stringify(parts)).slice(0, 13), 16)
}
