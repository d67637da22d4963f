import { money } from '../../core/money.ts'
import { type Description, type TableRow, type Telling, told } from './descriptions.ts'
import type { TableName } from './tables.ts'

const agentCards: Description<TableRow<'agentCards'>> = {
  what: 'card',
  // A purchase tells of its use.
  ignored: ['usedAtMs'],
  about: ({ merchantName, partyId, maximumAmountCents }, { names }) => {
    return { at: merchantName, of: names.party(partyId), cents: maximumAmountCents }
  },
  noun: ({ merchantName, maximumAmountCents }) => `a card for ${merchantName} over ${money(maximumAmountCents)}`,
  changed: (before, after, telling) => {
    const about = agentCards.about?.(after, telling)
    const noun = agentCards.noun(after, telling)
    if (after.frozenAtMs !== before.frozenAtMs) {
      return after.frozenAtMs === null
        ? [told('card', 'given', `${noun}: unfrozen`, about)]
        : [told('card', 'undone', `${noun}: frozen`, about)]
    }
    return after.expiresAtMs < before.expiresAtMs ? [told('card', 'undone', `${noun}: ended`, about)] : undefined
  },
}

const cardPages: Description<TableRow<'cardPages'>> = {
  what: 'page',
  ignored: ['shownAtMs'],
  about: ({ partyId, cardId }, { names, rows }) => {
    const card = rows.get('agentCards')?.get(cardId) as TableRow<'agentCards'> | undefined
    return { of: names.party(partyId), ...(card === undefined ? {} : { at: card.merchantName }) }
  },
  noun: ({ cardId }, { rows }) => {
    const card = rows.get('agentCards')?.get(cardId) as TableRow<'agentCards'> | undefined
    return `a page that shows the number of the card for ${card?.merchantName ?? cardId}`
  },
}

const credentials: Description<TableRow<'credentials'>> = {
  what: 'key',
  ignored: ['lastUsedAtMs', 'revokedBy', 'seeded'],
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ name, kind }) => `a key ${name === null ? '' : `"${name}" `}(${kind.replaceAll('_', ' ')})`,
  changed: (before, after, telling) => {
    const about = credentials.about?.(after, telling)
    if (before.revokedAtMs === after.revokedAtMs) return undefined
    return [told('key', 'undone', `${credentials.noun(after, telling)}: revoked`, about)]
  },
}

const agents: Description<TableRow<'agents'>> = {
  what: 'agent',
  ignored: ['lastActiveAtMs', 'updatedBy'],
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ name }) => `the agent ${name}`,
  changed: (before, after, telling) => {
    const about = agents.about?.(after, telling)
    if (after.limits !== before.limits)
      return [told('limit', 'given', `the limits of the agent ${after.name} changed`, about)]
    if (after.status === before.status) return undefined
    return [told('agent', 'undone', `the agent ${after.name} deleted`, about)]
  },
}

const parties: Description<TableRow<'parties'>> = {
  what: 'party',
  ignored: ['limitsUpdatedAtMs'],
  about: ({ id }, { names }) => ({ of: names.party(id) }),
  noun: ({ displayName }) => `the party ${displayName}`,
  changed: (before, after, telling) => {
    if (after.limits === before.limits) return undefined
    return [told('limit', 'given', `the limits of ${after.displayName} changed`, parties.about?.(after, telling))]
  },
}

const users: Description<TableRow<'users'>> = {
  what: 'user',
  ignored: ['mfaVerifiedAtMs'],
  about: ({ partyId, email }, { names }) => ({ of: names.party(partyId), to: email }),
  noun: ({ name, email }) => `the user ${name} (${email})`,
  changed: (before, after, telling) => {
    if (after.status === before.status) return undefined
    return [told('user', 'undone', `${users.noun(after, telling)}: removed`, users.about?.(after, telling))]
  },
}

const userNamed = (userId: string, { rows }: Telling) => {
  const user = rows.get('users')?.get(userId) as TableRow<'users'> | undefined
  return user?.email ?? userId
}

const ofUser = <Row extends { userId: string }>(words: string): Description<Row> => ({
  what: 'user',
  noun: ({ userId }, telling) => `${words} of ${userNamed(userId, telling)}`,
})

const delegations: Description<TableRow<'delegations'>> = {
  what: 'grant',
  ignored: ['revokedAtMs'],
  about: ({ customerPartyId, agentPartyId }, { names }) => {
    return { to: names.party(customerPartyId), of: names.party(agentPartyId) }
  },
  noun: ({ customerPartyId }, { names }) => `the grant of the customer ${names.party(customerPartyId)}`,
  changed: (before, after, telling) => {
    if (after.status === before.status) return undefined
    const weight = after.status === 'ACTIVE' ? 'given' : 'undone'
    const says = `the customer ${telling.names.party(after.customerPartyId)}: ${after.status.toLowerCase()}`
    return [told('customer', weight, says, delegations.about?.(after, telling))]
  },
}

const customerInvitations: Description<TableRow<'customerInvitations'>> = {
  what: 'invitation',
  ignored: [
    'pendingUntilMs',
    'acceptedAtMs',
    'declinedAtMs',
    'canceledByAgentId',
    'canceledInstanceId',
    'cancelReason',
  ],
  about: ({ partyId, recipient }, { names }) => ({ of: names.party(partyId), to: recipient }),
  noun: ({ recipient }) => `an invitation to ${recipient}`,
  changed: (before, after, telling) => {
    if (after.status === before.status) return undefined
    const says = `the invitation to ${after.recipient}: ${after.status.toLowerCase()}`
    return [told('invitation', 'undone', says, customerInvitations.about?.(after, telling))]
  },
}

const partyInvitations: Description<TableRow<'partyInvitations'>> = {
  what: 'invitation',
  ignored: ['userId'],
  about: ({ partyId, email }, { names }) => ({ of: names.party(partyId), to: email }),
  noun: ({ email, role }) => `an invitation to ${email} to join as ${role.toLowerCase()}`,
  changed: (before, after, telling) => {
    if (after.status === before.status) return undefined
    const says = `the invitation to ${after.email}: ${after.status.toLowerCase()}`
    return [told('invitation', 'undone', says, partyInvitations.about?.(after, telling))]
  },
}

const invitationLinks: Description<TableRow<'invitationLinks'>> = {
  what: 'link',
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ name }) => `a link "${name}" by which anybody connects`,
  changed: (before, after, telling) => {
    if (after.status === before.status) return undefined
    const says = `${invitationLinks.noun(after, telling)}: ${after.status.toLowerCase()}`
    return [told('link', 'undone', says, invitationLinks.about?.(after, telling))]
  },
}

const walletOf = (walletId: string, { rows }: Telling) =>
  String(rows.get('wallets')?.get(walletId)?.displayName ?? walletId)
const agentOf = (agentId: string, { rows }: Telling) => String(rows.get('agents')?.get(agentId)?.name ?? agentId)

const walletAgents: Description<TableRow<'walletAgents'>> = {
  what: 'permission',
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ walletId, agentId }, telling) => {
    return `the agent ${agentOf(agentId, telling)} at the wallet ${walletOf(walletId, telling)}`
  },
}

const walletPermissions: Description<TableRow<'walletPermissions'>> = {
  what: 'permission',
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ walletId, agentId, permission }, telling) => {
    const [agent, wallet] = [agentOf(agentId, telling), walletOf(walletId, telling)]
    return `the permission ${permission} of the agent ${agent} at the wallet ${wallet}`
  },
}

const oauthGrants: Description<TableRow<'oauthGrants'>> = {
  what: 'grant',
  ignored: ['lastUsedAtMs', 'payload'],
  about: ({ partyId, clientName }, { names }) => ({ of: names.party(partyId), to: clientName }),
  noun: ({ clientName }) => `a grant to the application ${clientName}`,
}

const webhooks: Description<TableRow<'webhooks'>> = {
  what: 'webhook',
  ignored: ['toldUpTo', 'failingSinceMs', 'nextDueAtMs', 'previousSecretUntilMs', 'previousKeyId', 'secretKeyId'],
  about: ({ partyId, url }, { names }) => ({ of: names.party(partyId), to: url }),
  noun: ({ url }) => `a webhook to ${url}`,
  changed: (before, after, telling) => {
    if (after.status === before.status) return undefined
    const says = `${webhooks.noun(after, telling)}: ${after.status.toLowerCase()}`
    return [told('webhook', 'given', says, webhooks.about?.(after, telling))]
  },
}

const complianceCases: Description<TableRow<'complianceCases'>> = {
  what: 'party',
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ partyId, status }, { names }) => `the compliance case of ${names.party(partyId)} (${status})`,
}

/** Tables that say who may do what. */
export const authorityTables = {
  ...{ agentCards, cardPages, credentials, agents, parties, users, delegations, oauthGrants, webhooks },
  ...{ customerInvitations, partyInvitations, invitationLinks, walletAgents, walletPermissions, complianceCases },
  secondFactors: ofUser<TableRow<'secondFactors'>>('a second factor'),
  passwords: ofUser<TableRow<'passwords'>>('the password'),
  signInSessions: ofUser<TableRow<'signInSessions'>>('a browser'),
  signInLinks: ofUser<TableRow<'signInLinks'>>('a link that signs in'),
} satisfies { readonly [Name in TableName]?: Description<TableRow<Name>> }
