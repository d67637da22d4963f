import { foreignName, foreignText } from '../../../core/foreign-text.ts'
import type { Delegable } from '../../../core/permissions.ts'
import { dollars, isolatedText, momentOf } from '../frame/texts.ts'
import type { Invitation } from './invitation.ts'

/** The description of each permission, as shown to the person who grants it. */
export const permissionWords = {
  'payments.read': 'See your payments and subscriptions',
  'payments.create': 'Send payments from your wallet and start subscriptions for you',
  'external_parties.read': 'See the people and businesses outside the service that you pay',
  'external_parties.create': 'Add people and businesses outside the service to pay',
  'direct.read': 'See your direct bank payments',
  'direct.create': 'Send direct bank payments from your wallet',
  'external_accounts.create': 'Link bank accounts for you',
  'wallets.read': 'See your wallets',
  'wallets.balance': 'See how much money is in your wallets',
  'wallets.create': 'Open wallets for you',
  'wallets.update': 'Rename and describe your wallets',
  'wallets.fund': 'Add money to your wallets',
  'wallets.deposit': 'Move money from your bank account into your wallets',
  'wallets.transfer': 'Move money between your wallets',
  'wallets.withdraw': 'Move money from your wallets to your bank account',
  'party.read': 'See your profile',
  'party.update': 'Change your profile',
  'payment_intents.create': 'Ask for payments in your name',
  'cards.read': 'Issue cards that spend from your wallet, and see their details',
} as const satisfies Record<Delegable, string>

/** The text that the invited person sees. Plain text, not HTML. */
export interface ConnectWords {
  title: string
  developer: string
  agent: string
  invited: string
  message: string | null
  permissions: string[]
  limit: string
  expires: string
  /** The outcome of the invitation; null while it is open. */
  outcome: { heading: string; line: string } | null
}

export function connectWords(invitation: Invitation): ConnectWords {
  const [developer, agent] = [
    foreignName(invitation.developer, 'Somebody without a name', 200),
    foreignName(invitation.agent, 'an agent without a name', 200),
  ]
  const outcome = outcomeOf(invitation, isolatedText(developer), isolatedText(agent))
  return {
    title: outcome === null ? `Connect to ${developer}` : `${outcome.heading} – ${developer}`,
    developer,
    agent,
    invited: foreignName(invitation.invited, 'Somebody without a name', 254),
    message: foreignText(invitation.message ?? '') || null,
    permissions: invitation.permissions.map(permissionText),
    limit: limitWords(invitation),
    expires: momentOf(invitation.expiresAtMs),
    outcome,
  }
}

export function permissionText(name: string): string {
  return permissionWords[name as Delegable] ?? foreignName(name, 'Something without a name')
}

export function limitWords({ perTransactionCents }: Pick<Invitation, 'perTransactionCents'>): string {
  if (perTransactionCents === null) return 'No limit: up to your whole balance'
  return `Up to ${dollars(perTransactionCents)} per payment; larger payments need approval`
}

type Outcome = { heading: string; line: string }

function outcomeOf({ status, cancelReason }: Invitation, developer: string, agent: string): Outcome | null {
  if (status !== 'CANCELED') return outcomes[status](developer, agent)
  return cancelReason === 'CONNECTION_ESTABLISHED'
    ? { heading: 'Already connected', line: `You already accepted another invitation from ${developer} for ${agent}.` }
    : { heading: 'No longer open', line: `${developer} canceled this invitation. It granted no access.` }
}

const outcomes = {
  PENDING: () => null,
  ACCEPTED: (developer, agent) => ({
    heading: 'Connected',
    line: `${agent} of ${developer} can act for you as you allowed, until you or ${developer} revokes this. You can close this page.`,
  }),
  DECLINED: (developer) => ({
    heading: 'Declined',
    line: `${developer} gets no access. You can close this page.`,
  }),
  EXPIRED: (developer) => ({
    heading: 'Expired',
    line: `The invitation was not answered in time. Ask ${developer} for a new one.`,
  }),
} as const satisfies Record<
  Exclude<Invitation['status'], 'CANCELED'>,
  (developer: string, agent: string) => Outcome | null
>
