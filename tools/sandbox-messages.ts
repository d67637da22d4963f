import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation } from './kinds.ts'
import { Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

export const messageKinds = [
  'payment_claim',
  'payment_request',
  'approval_required',
  'customer_invitation',
  'party_invitation',
  'subscription_canceled',
] as const

/** An email or text message that the service would have sent; the sandbox sends none. */
export const SandboxMessage = resource(
  'sandboxMessage',
  Id('msg'),
  {
    kind: z.enum(messageKinds).describe('Topic'),
    channel: z.enum(['email', 'sms']),
    to: z.string().describe(`Email address or phone number; "payer": a subscription's payer, whose address is unknown`),
    subject: z.string(),
    text: z.string().describe('[link] stands for a secret URL'),
    resourceId: z.string().describe('The record that the message is about'),
    createdAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

export const sandboxMessages = {
  listSandboxMessages: defineOperation({
    ...readOperation,
    environments: ['sandbox'],
    result: 'page',
    name: 'list_sandbox_messages',
    title: 'List messages that would have been sent',
    description:
      'Lists the emails and text messages that the service would have sent about your invitations, payments, requests and approvals, newest first. The sandbox sends none.',
    path: '/simulations/messages',
    query: listQuery({ to: z.string().max(320).describe('Only to this email address or phone number').optional() }),
    output: SandboxMessage,
    permission: 'activity.read',
    toolsets: ['sandbox'],
    errors: [],
    extension: true,
  }),
} as const
