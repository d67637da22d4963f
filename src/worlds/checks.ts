import type { z } from 'zod'
import type { CheckContext, ReportMistake } from './check-context.ts'
import { checkMoney } from './money-checks.ts'
import { Names } from './names.ts'
import type { WorldShape } from './shape.ts'

/**
 * Checks that the parts of a world file do not contradict each other. Balances and times are checked later, when the
 * database is filled.
 */
export function checkWorld(world: Pick<WorldShape, 'parties'>, context: z.RefinementCtx): void {
  const names = new Names(world)
  const reporterAt = (base: readonly PropertyKey[]): ReportMistake => {
    return (path, message) => context.addIssue({ code: 'custom', path: [...base, ...path], message })
  }
  checkUnique(world, reporterAt([]))
  for (const [index, party] of world.parties.entries()) {
    const check = { names, world, party, index, report: reporterAt(['parties', index]) }
    checkWalletsAndApiKeys(check)
    checkAgents(check)
    checkConnections(check)
    checkMoney(check)
  }
}

function checkWalletsAndApiKeys({ names, party, report }: CheckContext): void {
  checkDefault(party.wallets, 'wallets', report)
  for (const [at, { createdBy }] of (party.apiKeys ?? []).entries()) {
    if (createdBy !== undefined && names.find(party.users, createdBy) === undefined) {
      report(['apiKeys', at, 'createdBy'], `must be a user of the party; ${names.namesIn(party.users)}`)
    }
  }
}

function checkAgents({ names, party, report }: CheckContext): void {
  for (const [at, agent] of (party.agents ?? []).entries()) {
    const path = ['agents', at] as const
    const isUnknownUser = (createdBy: string | undefined) =>
      createdBy !== undefined && names.find(party.users, createdBy) === undefined
    const mustBeUser = `must be a user of the party; ${names.namesIn(party.users)}`
    if (isUnknownUser(agent.createdBy)) report([...path, 'createdBy'], mustBeUser)
    for (const [key, { createdBy }] of (agent.keys ?? []).entries()) {
      if (isUnknownUser(createdBy)) report([...path, 'keys', key, 'createdBy'], mustBeUser)
    }
    if (agent.slug !== undefined && party.handle === undefined) {
      report([...path, 'slug'], 'is only allowed if the party has a handle')
    }
    if (agent.revokedAt !== undefined && agent.status !== 'REVOKED') {
      report([...path, 'revokedAt'], 'is only allowed with status REVOKED')
    }
    checkDefault(agent.wallets, [...path, 'wallets'], report)
    for (const [wallet, { wallet: name }] of (agent.wallets ?? []).entries()) {
      if (names.find(party.wallets, name) === undefined) {
        report([...path, 'wallets', wallet, 'wallet'], `must be a wallet of the party; ${names.namesIn(party.wallets)}`)
      }
    }
  }
}

function checkDefault(
  things: readonly { isDefault?: boolean | undefined }[] | undefined,
  path: PropertyKey | readonly PropertyKey[],
  report: ReportMistake,
): void {
  const chosen = (things ?? []).flatMap(({ isDefault }, at) => (isDefault === true ? [at] : []))
  for (const at of chosen.slice(1)) report([path, at, 'isDefault'].flat(), 'is a second default; only one is allowed')
}

function checkConnections({ names, party, index, report, world }: CheckContext): void {
  const ownAgent = (name: string, path: PropertyKey[]) => {
    const agent = names.agent(index, name)
    if (agent?.party !== index) report(path, `must be an agent of the party; ${names.namesIn(party.agents)}`)
    return agent
  }
  const granted = new Set<string>()
  for (const [at, { customer, agent: name, status, revokedAt }] of (party.customers ?? []).entries()) {
    const agent = ownAgent(name, ['customers', at, 'agent'])
    const grantor = names.party(customer)
    if (grantor === undefined || grantor === index) {
      report(['customers', at, 'customer'], `must be another party; ${names.namesIn(world.parties)}`)
    }
    if (revokedAt !== undefined && status === 'ACTIVE') {
      report(['customers', at, 'revokedAt'], 'is only allowed with a status other than ACTIVE')
    }
    const pair = `${grantor} ${agent?.at}`
    if (granted.has(pair)) report(['customers', at], 'is a duplicate: a customer can give an agent only one grant')
    granted.add(pair)
  }
  for (const [at, invitation] of (party.invitations ?? []).entries()) {
    const path = ['invitations', at] as const
    ownAgent(invitation.agent, [...path, 'agent'])
    const recipient = names.recipientOf(index, invitation.to)
    if (
      recipient === undefined ||
      (recipient.kind === 'party' && (recipient.party === index || recipient.agent !== null))
    ) {
      report(
        [...path, 'to'],
        `must be another party, an email address or a phone number; ${names.namesIn(world.parties)}`,
      )
    } else if (invitation.status === 'ACCEPTED' && recipient.kind !== 'party') {
      report([...path, 'to'], 'must be a party in this file, because the invitation is ACCEPTED')
    }
    if (invitation.cancelReason !== undefined && invitation.status !== 'CANCELED') {
      report([...path, 'cancelReason'], 'is only allowed with status CANCELED')
    }
    if (invitation.endedAt !== undefined && ['PENDING', 'EXPIRED'].includes(invitation.status)) {
      report([...path, 'endedAt'], 'is only allowed with status ACCEPTED, DECLINED or CANCELED')
    }
  }
  for (const [at, link] of (party.invitationLinks ?? []).entries()) {
    for (const [proposed, { agent }] of link.proposedAgents.entries()) {
      ownAgent(agent, ['invitationLinks', at, 'proposedAgents', proposed, 'agent'])
    }
    if (link.revokedAt !== undefined && link.status !== 'REVOKED') {
      report(['invitationLinks', at, 'revokedAt'], 'is only allowed with status REVOKED')
    }
  }
}

/** Fields whose values must be unique in the whole file. */
const uniqueFields = new Set(['id', 'paymentIntentId', 'mandateId', 'secret', 'token', 'claimToken'])

function checkUnique(world: Pick<WorldShape, 'parties'>, report: ReportMistake): void {
  const seen = new Map<string, true>()
  const requireUnique = (key: string, path: readonly PropertyKey[]) => {
    if (seen.has(key)) report(path, 'is already used in this file, and must be unique')
    seen.set(key, true)
  }
  const visit = (value: unknown, path: PropertyKey[]): void => {
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) {
        visit(item, [...path, at])
        const ref = (item as { ref?: string } | null)?.ref
        if (ref !== undefined) requireUnique(`${path.join('/')} ${ref}`, [...path, at, 'ref'])
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        if (uniqueFields.has(name) && typeof inner === 'string') requireUnique(`${name} ${inner}`, [...path, name])
        visit(inner, [...path, name])
      }
    }
  }
  visit(world.parties, ['parties'])
  for (const [at, { handle, email, phone, users, agents }] of world.parties.entries()) {
    const path = ['parties', at]
    if (handle !== undefined) requireUnique(`handle @${handle}`, [...path, 'handle'])
    if (email !== undefined) requireUnique(`email ${email.toLowerCase()}`, [...path, 'email'])
    if (phone !== undefined) requireUnique(`phone ${phone}`, [...path, 'phone'])
    for (const [user, person] of (users ?? []).entries()) {
      requireUnique(`user ${person.email.toLowerCase()}`, [...path, 'users', user, 'email'])
    }
    for (const [agent, { slug, status }] of (agents ?? []).entries()) {
      if (slug !== undefined && status === 'ACTIVE')
        requireUnique(`handle @${handle}-${slug}`, [...path, 'agents', agent, 'slug'])
    }
  }
}
