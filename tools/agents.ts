import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import {
  ArgumentId,
  CentsOrZero,
  Description,
  Formed,
  Id,
  listQuery,
  resource,
  Tags,
  Text,
  Timestamp,
  toOne,
} from './schemas.ts'

const limit = (scope: string) => CentsOrZero.nullable().describe(`Limit ${scope} in cents; null: no limit`).optional()

/**
 * Spending limits in cents, such as an agent's limits on spending from its own party's wallets. Null or omitted means
 * no limit. Days and months are in UTC.
 */
export const AgentLimits = z.strictObject({
  perTransaction: limit('per payment'),
  perDay: limit('per day'),
  perMonth: limit('per month'),
})

/** A program that acts for one party (docs/service.md#agent). */
export const Agent = resource(
  'agent',
  Id('agt'),
  {
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(['ACTIVE', 'REVOKED']),
    tags: z.record(z.string(), z.string()),
    handle: z.string().nullable(),
    limits: AgentLimits.nullable(),
    createdAt: Timestamp.nullable(),
    createdBy: Id('usr').nullable(),
    updatedAt: Timestamp.nullable(),
    updatedBy: Id('usr').nullable(),
    lastActiveAt: Timestamp.nullable(),
  },
  { party: toOne('party', 'pty') },
)

/** The second part of an agent's handle: `slug` in `@party-slug`. */
const Slug = Formed(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'words of a-z and 0-9 with single dashes between them').max(40)
const AgentDescription = Description(500).nullable().describe("The agent's task")
const agentName = Text(100).describe('Name that people see')
const agentParams = z.strictObject({ agentId: ArgumentId('agt') })

const shared = {
  output: Agent,
  toolsets: ['agents'],
  extension: false,
} as const

export const agents = {
  listAgents: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_agents',
    title: 'List agents',
    description: 'Lists the agents of your party, newest first. Agents of one wallet: list_wallet_agents.',
    path: '/agents',
    query: listQuery({ status: z.enum(['ACTIVE', 'REVOKED']).describe('Only this status').optional() }),
    permission: 'agents.read',
    errors: [],
  }),

  createAgent: defineOperation({
    ...shared,
    ...writeOperation,
    name: 'create_agent',
    title: 'Create an agent',
    description: 'Creates an agent that pays from a wallet of your party. Next: create_agent_key, so that it can act.',
    answers: 201,
    path: '/agents',
    attributes: z.strictObject({
      name: agentName,
      description: AgentDescription.optional(),
      tags: Tags.optional(),
      slug: Slug.optional(),
      limits: AgentLimits.nullable().optional().describe('Spending limits'),
      walletId: ArgumentId('wal', 'Wallet to pay from; omit for the default').optional(),
    }),
    permission: 'agents.create',
    adds: true,
    errors: ['not_found'],
  }),

  getAgent: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_agent',
    title: 'Read an agent',
    description: 'Reads one agent, its limits and when it was last active.',
    path: '/agents/{agentId}',
    params: agentParams,
    permission: 'agents.read',
    errors: ['not_found'],
  }),

  updateAgent: defineOperation({
    ...shared,
    ...writeOperation,
    method: 'PATCH',
    name: 'update_agent',
    title: 'Change an agent',
    description:
      'Changes only the given fields of an agent: name, description, slug, limits or tags. Wallets and keys are not affected.',
    path: '/agents/{agentId}',
    params: agentParams,
    attributes: z.strictObject({
      name: agentName.nullable().optional(),
      description: AgentDescription.optional(),
      tags: z
        .record(z.string().max(100), z.string().max(500).nullable().describe('Tag text; null deletes the tag'))
        .describe('Notes to add, change or delete; other notes are kept')
        .optional(),
      slug: Slug.optional(),
      limits: AgentLimits.nullable().optional().describe('Replaces all limits'),
    }),
    permission: 'agents.update',
    errors: ['not_found'],
  }),

  deleteAgent: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'delete_agent',
    title: 'Delete an agent',
    description: 'Deletes an agent for good, with its keys, cards, customer grants and pending invitations.',
    path: '/agents/{agentId}',
    params: agentParams,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'agents.delete',
    errors: ['not_found'],
  }),
} as const
