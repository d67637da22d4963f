import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { reading } from './kinds.ts'
import { Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/** The kinds of messages. Messages to the payer of a subscription, whose address is unknown, go to `payer`. */
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
    kind: z.enum(messageKinds).describe('What it is about'),
    channel: z.enum(['email', 'sms']),
    to: z.string().describe('The address; payer: that of who pays a subscription, which nobody knows'),
    subject: z.string(),
    text: z.string().describe('Where [link] stands, the message has its secret address'),
    resourceId: z.string().describe('The record that it is about'),
    createdAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

export const sandboxMessages = {
  listSandboxMessages: defineOperation({
    ...reading,
    environments: ['sandbox'],
    result: 'page',
    name: 'list_sandbox_messages',
    title: 'List messages that would have been sent',
    description:
      'Lists the mails and text messages that your party’s invitations, claims, requests and approvals would have sent, newest first. The sandbox sends none.',
    path: '/simulations/messages',
    query: listQuery({ to: z.string().max(320).describe('Only to this address').optional() }),
    output: SandboxMessage,
    permission: 'activity.read',
    toolsets: ['sandbox'],
    errors: [],
    extension: true,
  }),
} as const
