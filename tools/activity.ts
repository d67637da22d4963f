import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/**
 * An action that succeeded or failed. It was requested with one of the party's credentials, or by a person on a page.
 * The person is a user, or a visitor who opened a link to a record. For a visitor, `keyId` is the id of that record.
 * `hash` covers all other attributes, including the hash of the party's previous activity, so tampering with past
 * activities is detectable.
 */
export const Activity = resource(
  'activity',
  Id('act'),
  {
    operation: z.string(),
    actorType: z.enum(['user', 'party', 'agent', 'visitor']),
    userId: Id('usr').nullable(),
    agentId: Id('agt').nullable(),
    instanceId: z.string().nullable(),
    keyId: z.string(),
    resourceIds: z.array(z.string()),
    result: z.object({ httpStatus: z.int().min(200), code: z.string().nullable() }),
    sequence: z.int().positive(),
    previousHash: z.string(),
    hash: z.string(),
    createdAt: Timestamp,
  },
  { party: toOne('party', 'pty'), customerParty: toOne('party', 'pty') },
)

export const activity = {
  listActivity: defineOperation({
    ...readOperation,
    result: 'page',
    name: 'list_activity',
    title: 'List activity',
    description:
      "Lists your party's actions, newest first: the agent, run, key, resources and result of each. For payments: list_payments.",
    path: '/activity',
    query: listQuery({
      instanceId: z.string().min(1).max(1024).describe('Only in this run').optional(),
      agentId: ArgumentId('agt', 'Only by this agent').optional(),
      resourceId: z
        .string()
        .regex(/^[a-z]{3}_[0-9A-Za-z_-]{1,100}$/)
        .optional()
        .describe('Only on the record with this id'),
    }),
    output: Activity,
    permission: 'activity.read',
    toolsets: ['agents'],
    errors: [],
    extension: true,
  }),
} as const
