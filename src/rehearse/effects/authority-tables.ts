import { money } from '../../core/money.ts'
import { asGiven, asUndone, type Description, type DescriptionContext, rowIn, type TableRow } from './descriptions.ts'
import type { TableName } from './tables.ts'

const agentCards: Description<TableRow<'agentCards'>> = {
  what: 'card',
  // The purchase has its own effect, which shows that the card was used.
  ignored: ['usedAtMs'],
  about: ({ merchantName, maximumAmountCents }) => ({ at: merchantName, cents: maximumAmountCents }),
  noun: ({ merchantName, maximumAmountCents }) => `a card of up to ${money(maximumAmountCents)} for ${merchantName}`,
  changed: (before, after, context) => {
    const noun = agentCards.noun(after, context)
    if (after.frozenAtMs !== before.frozenAtMs) {
      return after.frozenAtMs === null
        ? [{ weight: 'given', says: `${noun}: unfrozen`, did: `unfroze ${noun}` }]
        : [{ weight: 'undone', says: `${noun}: frozen`, did: `froze ${noun}` }]
    }
    return after.expiresAtMs < before.expiresAtMs ? [{ weight: 'undone', says: `${noun}: ended` }] : undefined
  },
}

const cardPages: Description<TableRow<'cardPages'>> = {
  what: 'page',
  ignored: ['shownAtMs'],
  about: ({ cardId }, context) => {
    const card = rowIn(context, 'agentCards', cardId)
    return card === undefined ? {} : { at: card.merchantName }
  },
  noun: ({ cardId }, context) => {
    const card = rowIn(context, 'agentCards', cardId)
    return `a page that shows the number of the card for ${card?.merchantName ?? cardId}`
  },
}

const credentials: Description<TableRow<'credentials'>> = {
  what: 'key',
  ignored: ['lastUsedAtMs', 'revokedBy', 'seeded'],
  noun: ({ name, kind }) => `a key ${name === null ? '' : `"${name}" `}(${kind.replaceAll('_', ' ')})`,
  changed: (before, after, context) =>
    before.revokedAtMs === after.revokedAtMs
      ? undefined
      : [{ weight: 'undone', says: `${credentials.noun(after, context)}: revoked`, did: 'revoked a key' }],
}

const agents: Description<TableRow<'agents'>> = {
  what: 'agent',
  ignored: ['lastActiveAtMs', 'updatedBy'],
  noun: ({ name }) => `the agent ${name}`,
  status: ({ name }) => ({ weight: 'undone', says: `the agent ${name} deleted` }),
  changed: (before, after) => limitsChanged(before, after, `the agent ${after.name}`),
}

const parties: Description<TableRow<'parties'>> = {
  what: 'party',
  ignored: ['limitsUpdatedAtMs'],
  about: ({ id }, { names }) => ({ of: names.party(id) }),
  noun: ({ displayName }) => `the party ${displayName}`,
  changed: (before, after) => limitsChanged(before, after, after.displayName),
}

function limitsChanged(before: { limits: unknown }, after: { limits: unknown }, owner: string) {
  if (after.limits === before.limits) return undefined
  return [
    {
      ...asGiven(),
      what: 'limit' as const,
      says: `the limits of ${owner} changed`,
      did: `changed the limits of ${owner}`,
    },
  ]
}

const users: Description<TableRow<'users'>> = {
  what: 'user',
  ignored: ['mfaVerifiedAtMs'],
  about: ({ email }) => ({ to: email }),
  noun: ({ name, email }) => `the user ${name} (${email})`,
  status: (user, context) => ({ weight: 'undone', says: `${users.noun(user, context)}: removed` }),
}

const userRecord = <Row extends { userId: string }>(words: string): Description<Row> => ({
  what: 'user',
  noun: ({ userId }, context) => `${words} of ${rowIn(context, 'users', userId)?.email ?? userId}`,
})

const delegations: Description<TableRow<'delegations'>> = {
  what: 'grant',
  ignored: ['revokedAtMs'],
  about: ({ customerPartyId, agentPartyId }, { names }) => {
    return { to: names.party(customerPartyId), of: names.party(agentPartyId) }
  },
  noun: ({ customerPartyId }, { names }) => `the grant of the customer ${names.party(customerPartyId)}`,
  status: ({ customerPartyId, status }, { names }) => ({
    ...{ what: 'customer', weight: status === 'ACTIVE' ? 'given' : 'undone' },
    says: `the customer ${names.party(customerPartyId)}: ${status.toLowerCase()}`,
  }),
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
  about: ({ recipient }) => ({ to: recipient }),
  noun: ({ recipient }) => `an invitation to ${recipient}`,
  status: ({ recipient, status }) => answeredInvitation(recipient, status),
}

const partyInvitations: Description<TableRow<'partyInvitations'>> = {
  what: 'invitation',
  ignored: ['userId'],
  about: ({ email }) => ({ to: email }),
  noun: ({ email, role }) => `an invitation to ${email} to join as ${role.toLowerCase()}`,
  status: ({ email, status }) => answeredInvitation(email, status),
}

const answeredInvitation = (recipient: string, status: string) => {
  const noun = `the invitation to ${recipient}`
  const did = /^(?:CANCELED|REVOKED)$/.test(status) ? { did: `revoked ${noun}` } : {}
  return { ...asUndone(), says: `${noun}: ${status.toLowerCase()}`, ...did }
}

const invitationLinks: Description<TableRow<'invitationLinks'>> = {
  what: 'link',
  noun: ({ name }) => `a link "${name}" through which anyone can connect`,
  status: asUndone,
}

const agentAtWallet = ({ agentId, walletId }: { agentId: string; walletId: string }, context: DescriptionContext) => {
  const agent = rowIn(context, 'agents', agentId)?.name ?? agentId
  return `the agent ${agent} on the wallet ${rowIn(context, 'wallets', walletId)?.displayName ?? walletId}`
}

const walletAgents: Description<TableRow<'walletAgents'>> = {
  what: 'permission',
  noun: (row, context) => `the assignment of ${agentAtWallet(row, context)}`,
}

const walletPermissions: Description<TableRow<'walletPermissions'>> = {
  what: 'permission',
  noun: (row, context) => `the permission ${row.permission} of ${agentAtWallet(row, context)}`,
}

const oauthGrants: Description<TableRow<'oauthGrants'>> = {
  what: 'grant',
  ignored: ['lastUsedAtMs', 'payload'],
  about: ({ clientName }) => ({ to: clientName }),
  noun: ({ clientName }) => `a grant to the application ${clientName}`,
}

const webhooks: Description<TableRow<'webhooks'>> = {
  what: 'webhook',
  ignored: ['toldUpTo', 'failingSinceMs', 'nextDueAtMs', 'previousSecretUntilMs', 'previousKeyId', 'secretKeyId'],
  about: ({ url }) => ({ to: url }),
  noun: ({ url }) => `a webhook to ${url}`,
  status: asGiven,
}

const complianceCases: Description<TableRow<'complianceCases'>> = {
  what: 'party',
  noun: ({ partyId, status }, { names }) => `the compliance case of ${names.party(partyId)} (${status})`,
}

const trustedIssuers: Description<TableRow<'trustedIssuers'>> = {
  what: 'grant',
  about: ({ issuer }) => ({ to: issuer }),
  noun: ({ issuer }) => `trust in the identity provider ${issuer}`,
}

/** The descriptions of the tables that define who may do what. */
export const authorityTables = {
  ...{ agentCards, cardPages, credentials, agents, parties, users, delegations, oauthGrants, trustedIssuers, webhooks },
  ...{ customerInvitations, partyInvitations, invitationLinks, walletAgents, walletPermissions, complianceCases },
  secondFactors: userRecord<TableRow<'secondFactors'>>('a second factor'),
  passwords: userRecord<TableRow<'passwords'>>('the password'),
  signInSessions: userRecord<TableRow<'signInSessions'>>('a sign-in session'),
  signInLinks: userRecord<TableRow<'signInLinks'>>('a sign-in link'),
} satisfies { readonly [Name in TableName]?: Description<TableRow<Name>> }
