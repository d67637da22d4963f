import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/** A mail or text message that the service would have sent; the sandbox sends none. */
export const SandboxMessage = resource(
  'sandboxMessage',
  Id('msg'),
  {
    kind: z.string().describe('What it is about, such as payment_claim'),
    channel: z.enum(['email', 'sms']),
    to: z.string(),
    subject: z.string(),
    text: z.string(),
    resourceId: z.string().nullable(),
    createdAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

export const sandboxMessages = {
  listSandboxMessages: defineOperation({
    name: 'list_sandbox_messages',
    title: 'List messages that would have been sent',
    description:
      'Lists the mails and text messages that the service would have sent for your party, newest first. The sandbox sends none.',
    method: 'GET',
    path: '/simulations/messages',
    query: listQuery({ to: z.string().max(320).describe('Only to this address').optional() }),
    output: SandboxMessage,
    result: 'page',
    environments: ['sandbox'],
    permission: 'activity.read',
    idempotency: 'ignored',
    instanceId: 'optional',
    effect: 'read',
    toolsets: ['sandbox'],
    errors: [],
    extension: true,
  }),
} as const
