import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { CentsOrZero, Description, Formed, Id, listQuery, resource, Tags, Text, Timestamp, toOne } from './schemas.ts'

const window = CentsOrZero.nullable().optional()

/** Caps on what an agent starts on its owner's party, cents; null or left out: no limit. Days and months are UTC. */
export const AgentLimits = z.strictObject({ perTransaction: window, perDay: window, perMonth: window })

/** A software actor bound to a party (docs/service.md#agent). */
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

/** The agent's part of its handle, @party-slug. */
const Slug = Formed(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'words of a-z and 0-9 with single dashes between them').max(40)
const AgentDescription = Description(500).nullable()
const agentParams = z.strictObject({ agentId: Id('agt') })

const shared = {
  output: Agent,
  result: 'one',
  environments: ['sandbox', 'production'],
  instanceId: 'optional',
  toolsets: ['agents'],
} as const

export const agents = {
  listAgents: defineOperation({
    ...shared,
    name: 'list_agents',
    title: 'List agents',
    description: 'Lists the agents of your party, newest first.',
    method: 'GET',
    path: '/agents',
    query: listQuery({ status: z.enum(['ACTIVE', 'REVOKED']).optional() }),
    result: 'page',
    permission: 'agents.read',
    idempotency: 'ignored',
    effect: 'read',
    errors: [],
  }),

  createAgent: defineOperation({
    ...shared,
    name: 'create_agent',
    title: 'Create an agent',
    description: 'Creates an agent that pays from a wallet of your party. Then create_agent_key to let it act.',
    method: 'POST',
    path: '/agents',
    attributes: z.strictObject({
      name: Text(100),
      description: AgentDescription.optional(),
      tags: Tags.optional(),
      slug: Slug.optional(),
      limits: AgentLimits.nullable().optional().describe('Cents'),
      walletId: Id('wal').optional().describe('Default: the default wallet'),
    }),
    permission: 'agents.create',
    idempotency: 'required',
    adds: true,
    effect: 'write',
    errors: ['not_found'],
  }),

  getAgent: defineOperation({
    ...shared,
    name: 'get_agent',
    title: 'Read an agent',
    description: 'Reads an agent, its limits and when it was last active.',
    method: 'GET',
    path: '/agents/{agentId}',
    params: agentParams,
    permission: 'agents.read',
    idempotency: 'ignored',
    effect: 'read',
    errors: ['not_found'],
  }),

  updateAgent: defineOperation({
    ...shared,
    name: 'update_agent',
    title: 'Change an agent',
    description: 'Changes what is given. limits replace all limits; tags merge, a null deletes one.',
    method: 'PATCH',
    path: '/agents/{agentId}',
    params: agentParams,
    attributes: z.strictObject({
      name: Text(100).nullable().optional(),
      description: AgentDescription.optional(),
      tags: z.record(z.string().max(100), z.string().max(500).nullable()).optional(),
      slug: Slug.optional(),
      limits: AgentLimits.nullable().optional().describe('Cents'),
    }),
    permission: 'agents.update',
    idempotency: 'required',
    effect: 'write',
    errors: ['not_found'],
  }),

  deleteAgent: defineOperation({
    ...shared,
    name: 'delete_agent',
    title: 'Delete an agent',
    description: "Ends an agent for good, with its keys, its customers' grants and its pending invitations.",
    method: 'DELETE',
    path: '/agents/{agentId}',
    params: agentParams,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'agents.delete',
    idempotency: 'required',
    effect: 'destructive',
    errors: ['not_found'],
  }),
} as const
