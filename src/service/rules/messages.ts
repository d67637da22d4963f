import type { messageKinds } from '../../../tools/sandbox-messages.ts'
import { money } from '../../core/money.ts'

export type MessageKind = (typeof messageKinds)[number]

/** The facts that a message can state. Each kind of message uses only some of them. */
export interface MessageFacts {
  /** The name of the party that pays, requests money or invites; for a canceled subscription, the merchant's name. */
  from: string
  amountCents?: number
  agent?: string
  role?: string
}

interface Words {
  subject: string
  text: string
}

/**
 * The text of each kind of message (docs/sandbox.md#messages). A real message would have a URL in place of `[link]`.
 * The URL is not stored, because anyone who has it could act for the recipient.
 */
const wordsOf: Readonly<Record<MessageKind, (facts: MessageParts) => Words>> = {
  payment_claim: ({ from, amount }) => ({
    subject: `${from} sends you ${amount}`,
    text: `${from} sends you ${amount}. To claim it, open this link: [link]`,
  }),
  payment_request: ({ from, amount }) => ({
    subject: `${from} asks you for ${amount}`,
    text: `${from} asks you to pay ${amount}. To pay or decline, open this link: [link]`,
  }),
  approval_required: ({ from, amount, agent }) => ({
    subject: `Approve or deny a payment of ${amount}`,
    text: `${agent === '' ? 'A payment' : `A payment by ${agent}`} of ${amount} from ${from} is over a limit. To approve or deny it, sign in: [link]`,
  }),
  customer_invitation: ({ from, agent }) => ({
    subject: `${from} asks to connect`,
    text: `${from} asks you to let ${agent} act for you. To see the permissions, and to accept or decline, open this link: [link]`,
  }),
  party_invitation: ({ from, role }) => ({
    subject: `Join ${from}`,
    text: `${from} asks you to join as ${role}. To accept or decline, open this link: [link]`,
  }),
  subscription_canceled: ({ from }) => ({
    subject: `Your payments to ${from} have ended`,
    text: `Your agreement with ${from} was canceled. Your card will not be charged again.`,
  }),
}

interface MessageParts {
  from: string
  amount: string
  agent: string
  role: string
}

/** Returns the subject and text of a message. Uses the given names unchanged. */
export function messageWords(kind: MessageKind, { from, amountCents = 0, agent = '', role = '' }: MessageFacts): Words {
  return wordsOf[kind]({
    from,
    amount: money(amountCents),
    agent,
    role,
  })
}
