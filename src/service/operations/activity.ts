import type { z } from 'zod'
import type { Activity, activity } from '../../../tools/activity.ts'
import { timestamp } from '../../core/system.ts'
import type { HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { listActivity } from '../store/activity.ts'
import type { ActivityRow } from '../store/schema/activity.ts'

export const activityHandlers = {
  /**
   * Lists all actions with the party's credentials, including actions on behalf of customers. An agent sees only its
   * own activity.
   */
  listActivity: async (input, { tx, actor }) => {
    const { instanceId = null, agentId = null, resourceId = null } = input
    const scope = { partyId: actor.partyId, agentId, instanceId, resourceId, ownAgentId: actor.agentId }
    const list = { list: 'activity', ...scope }
    return page(await listActivity(tx, scope, pageRequest(input, list)), list, activityView)
  },
} satisfies HandlersOf<typeof activity>

function activityView(row: ActivityRow): z.output<typeof Activity> {
  const { customerPartyId } = row
  return {
    type: 'activity',
    id: row.id,
    attributes: {
      operation: row.operation,
      actorType: row.actorType,
      userId: row.userId,
      agentId: row.agentId,
      instanceId: row.instanceId,
      keyId: row.keyId,
      resourceIds: JSON.parse(row.resourceIds) as string[],
      result: { httpStatus: row.status, code: row.code },
      sequence: row.sequence,
      previousHash: row.previousHash,
      hash: row.hash,
      createdAt: timestamp(row.createdAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: row.partyId } },
      customerParty: { data: customerPartyId === null ? null : { type: 'party', id: customerPartyId } },
    },
  }
}
