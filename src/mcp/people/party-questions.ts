import { parties } from '../../../tools/parties.ts'
import { webhooks } from '../../../tools/webhooks.ts'
import { money, quoted, quotedWhole, word } from '../answers/quoted-text.ts'
import type { Arguments, Question, Read } from './question.ts'

const windows = { perTransaction: 'per payment', perDay: 'per day', perMonth: 'per month' } as const

/** Lists every limit in the question, because the call removes each limit that its arguments omit. */
export async function askToSetPartyLimits(limits: Arguments): Promise<Question> {
  const words = Object.entries(windows).map(
    ([window, each]) => `${typeof limits[window] === 'number' ? money(limits[window]) : 'no limit'} ${each}`,
  )
  return {
    facts: ['Set the limits of your party', `To: ${words.join(', ')}`],
    effect: 'Payments above a limit wait for an approval; without a limit, payments do not wait.',
    approveLabel: 'Yes, set the limits',
  }
}

export async function askToClearPartyLimits(_input: Arguments, read: Read): Promise<Question | undefined> {
  const { limits } = (await read(parties.getPartyLimits, {})).data.attributes
  // There are no limits to clear.
  if (limits === null) return undefined
  const current = Object.entries(windows).flatMap(([window, each]) => {
    const cents = limits[window as keyof typeof windows]
    return cents === null ? [] : [`${money(cents)} ${each}`]
  })
  return {
    facts: ['Clear the limits of your party', `Limits now: ${current.join(', ') || 'none'}`],
    effect: 'Payments of your party no longer wait for an approval, except above the limits of its agents.',
    approveLabel: 'Yes, clear the limits',
  }
}

export async function askToRemoveMember({ userId }: Arguments, read: Read): Promise<Question> {
  const { data } = await read(parties.listPartyMembers, { limit: 100 })
  const member = data.find(({ id }) => id === userId)?.attributes
  const who = member === undefined ? word(userId) : `${quoted(member.email ?? 'somebody')} (${word(userId)})`
  return {
    facts: [`Remove ${who} from your party`, member === undefined ? undefined : `Role: ${word(member.role)}`],
    effect: 'They are signed out everywhere, at once. Only a new invitation lets them in again.',
    approveLabel: 'Yes, remove this person',
  }
}

export async function askToInvite({ invitations }: Arguments): Promise<Question> {
  const people = (invitations as { email: string; role: string }[]).map(
    ({ email, role }) => `${quotedWhole(email)} as ${word(role)}`,
  )
  return {
    facts: ['Invite people to your party', `Invited: ${people.join(', ')}`],
    effect: 'Everyone who accepts can act for your account; an ADMIN can do what you can.',
    approveLabel: 'Yes, invite them',
  }
}

export async function askToCreateWebhook({ url, enabledEvents }: Arguments): Promise<Question> {
  return {
    facts: [`Send your events to an address: ${quotedWhole(url)}`, `Events: ${eventsInWords(enabledEvents)}`],
    effect: 'The address receives data about your payments, wallets and customers until the webhook is deleted.',
    approveLabel: 'Yes, send events to this address',
  }
}

/** Asks about a new URL or new events: these determine who gets which data. Other changes need no question. */
export async function askToChangeWebhook(
  { webhookId, url, enabledEvents }: Arguments,
  read: Read,
): Promise<Question | undefined> {
  if (url === undefined && enabledEvents === undefined) return undefined
  const now = (await read(webhooks.getWebhook, { webhookId })).data.attributes
  return {
    facts: [
      `Change the webhook ${word(webhookId)}, which sends to ${quotedWhole(now.url)}`,
      url === undefined ? undefined : `New address: ${quotedWhole(url)}`,
      enabledEvents === undefined ? undefined : `New events: ${eventsInWords(enabledEvents)}`,
    ],
    effect: 'The address receives data about your payments, wallets and customers.',
    approveLabel: 'Yes, change the webhook',
  }
}

export async function askToEndWebhook(
  { webhookId, expiresInSeconds }: Arguments,
  read: Read,
  change: 'Delete' | 'Replace the secret of',
): Promise<Question> {
  const { url } = (await read(webhooks.getWebhook, { webhookId })).data.attributes
  const grace = Number(expiresInSeconds) > 0 ? `in ${Number(expiresInSeconds)} s` : 'at once'
  return {
    facts: [`${change} the webhook that sends to ${quotedWhole(url)} (${word(webhookId)})`],
    effect:
      change === 'Delete'
        ? 'The address receives nothing more, not even pending deliveries.'
        : `The old secret expires ${grace}. Deliveries then fail at a receiver that does not have the new secret.`,
    approveLabel: change === 'Delete' ? 'Yes, delete the webhook' : 'Yes, replace the secret',
  }
}

const eventsInWords = (types: readonly string[]) =>
  types.includes('*') ? 'all' : types.map((type) => quoted(type)).join(', ')
