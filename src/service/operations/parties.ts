import type { z } from 'zod'
import type { ComplianceCase, Member, Party, PartyLimits, parties } from '../../../tools/parties.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireSimulatable } from '../request/simulated-party.ts'
import { isWider, type Limits, limitsColumn } from '../rules/limits.ts'
import { nameOf, type PartyProfile } from '../rules/parties.ts'
import { findComplianceCase } from '../store/compliance-cases.ts'
import { findCustomer } from '../store/delegations.ts'
import { findParty, updateParty } from '../store/parties.ts'
import type { ComplianceCaseRow } from '../store/schema/compliance-cases.ts'
import type { PartyRow } from '../store/schema/parties.ts'
import type { UserRow } from '../store/schema/users.ts'
import { findMember, listMembers } from '../store/users.ts'
import { decideCompliance } from './steps/decide-compliance.ts'
import { removeMember } from './steps/remove-member.ts'
import { requireManager } from './steps/require-manager.ts'
import { takeHandle } from './steps/take-handle.ts'

export const partyHandlers = {
  getParty: async (_input, context) => partyView(await ownParty(context)),

  updateParty: async ({ displayName }, context) => {
    const before = await lockPartyForChange(context)
    if (displayName === undefined) return partyView(before)
    const { isUnnamed, ...profile } = profileOf(before)
    const change =
      displayName === null
        ? { displayName: nameOf(profile, before), profile: { ...profile, isUnnamed: true } }
        : { displayName, profile }
    const named = { ...change, profile: JSON.stringify(change.profile) }
    if (named.displayName === before.displayName && named.profile === before.profile) return partyView(before)
    return partyView(await updateParty(context.tx, before, named, context.nowMs))
  },

  setPartyHandle: async ({ handle }, context) => {
    const before = await lockPartyForChange(context)
    return partyView(before.handle === handle ? before : await takeHandle(context, before, handle))
  },

  getPartyLimits: async (_input, context) => partyLimitsView(await ownParty(context)),

  setPartyLimits: async ({ perTransaction, perDay, perMonth }, context) =>
    setLimits(context, { perTransaction, perDay, perMonth }, { pointer: '/data/attributes' }),

  clearPartyLimits: async (_input, context) => setLimits(context, null),

  listPartyMembers: async (input, { tx, partyId }) => {
    const list = { list: 'members', partyId }
    return page(await listMembers(tx, partyId, pageRequest(input, list)), list, memberView)
  },

  /** Removes a member. A member who is already removed is returned unchanged. */
  removePartyMember: async ({ userId }, context) => {
    const member = await findMember(context.tx, context.partyId, userId)
    if (member === undefined) fail('not_found', { detail: `There is no member ${userId} of this party.` })
    await removeMember(context, member)
    return { data: { type: 'user', id: userId }, meta: { deleted: true } }
  },

  getPartyCompliance: async ({ partyId }, context) => {
    await requireOwnOrCustomer(context, partyId, 'party.read')
    const found = await findComplianceCase(context.tx, partyId)
    return found === undefined ? null : complianceCaseView(found)
  },

  simulateComplianceDecision: async ({ partyId, status }, context) => {
    const { tx } = context
    await requireOwnOrCustomer(context, partyId)
    if (partyId !== context.actor.partyId) {
      await requireSimulatable(context, partyId, { call: 'Send this call with an API key of that party.' })
    }
    // Several parties may decide the same customer's case at the same time. Each request locks only the caller's party,
    // so the case needs a lock too.
    await tx.lock(`compliance ${partyId}`)
    const party = await findParty(tx, partyId)
    if (party === undefined) throw new Error(`Bug: the party ${partyId} is gone.`)
    return complianceCaseView(await decideCompliance(context, party, status))
  },
} satisfies HandlersOf<typeof parties>

async function ownParty({ tx, partyId }: Context): Promise<PartyRow> {
  const party = await findParty(tx, partyId)
  if (party === undefined) throw new Error(`Bug: the party ${partyId} is gone.`)
  return party
}

/**
 * Locks and returns the party that the request changes. Requests that change a party have no idempotency key, so
 * nothing has locked the party yet.
 * @throws 403 if the caller is a user who is neither an owner nor an administrator.
 */
async function lockPartyForChange(context: Context): Promise<PartyRow> {
  await requireManager(context)
  await context.tx.lockParty(context.partyId)
  return ownParty(context)
}

/** Replaces all limits of the party, so an omitted limit is cleared. */
async function setLimits(context: Context, limits: Limits | null, source?: { pointer: string }) {
  const { tx, actor, nowMs } = context
  const before = await lockPartyForChange(context)
  if (isWider(limits, parsedLimits(before))) requireCanGrant(actor, grantedScopes.higherLimits(), source)
  const column = limitsColumn(limits)
  if (column === before.limits) return partyLimitsView(before)
  return partyLimitsView(await updateParty(tx, before, { limits: column, limitsUpdatedAtMs: nowMs }, nowMs))
}

/**
 * Requires `partyId` to be the caller's party, or a customer with an active grant to an agent of the caller's party. If
 * the caller is an agent, the grant must be to this agent.
 * @param needed The permission that at least one of these grants must include.
 * @throws 404 for any other party, 403 if no grant includes the permission.
 */
async function requireOwnOrCustomer({ tx, actor }: Context, partyId: string, needed?: string): Promise<void> {
  if (partyId === actor.partyId) return
  const scope = { partyId: actor.partyId, agentId: actor.agentId, status: 'active' } as const
  const customer = await findCustomer(tx, scope, partyId)
  const grants = customer?.delegations.filter(({ status }) => status === 'ACTIVE') ?? []
  if (grants.length === 0) fail('not_found', { detail: `${partyId} is neither your party nor your customer.` })
  if (needed === undefined) return
  if (grants.some(({ permissions }) => (JSON.parse(permissions) as string[]).includes(needed))) return
  fail('forbidden', { detail: `None of the customer's grants to you includes ${needed}.` })
}

function profileOf({ profile }: PartyRow): PartyProfile {
  return JSON.parse(profile) as PartyProfile
}

function parsedLimits({ limits }: PartyRow): Limits | null {
  return limits === null ? null : (JSON.parse(limits) as Limits)
}

const timestampOrNull = (ms: number | null) => (ms === null ? null : timestamp(ms))

export function partyView(row: PartyRow): z.output<typeof Party> {
  const profile = profileOf(row)
  return {
    type: 'party',
    id: row.id,
    attributes: {
      partyType: row.partyType,
      status: row.status,
      legalName: profile.legalName ?? null,
      firstName: profile.firstName ?? null,
      lastName: profile.lastName ?? null,
      displayName: profile.isUnnamed === true ? null : row.displayName,
      handle: row.handle === null ? null : `@${row.handle}`,
      avatarUrl: profile.avatarUrl ?? null,
      persona: profile.persona ?? null,
      email: row.email,
      primaryPhone: row.phone,
      addressLine1: profile.addressLine1 ?? null,
      addressCity: profile.addressCity ?? null,
      addressState: profile.addressState ?? null,
      addressPostalCode: profile.addressPostalCode ?? null,
      addressCountry: profile.addressCountry ?? null,
      createdBy: row.createdBy,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs ?? row.createdAtMs),
    },
  }
}

function partyLimitsView(row: PartyRow): z.output<typeof PartyLimits> {
  const { perTransaction = null, perDay = null, perMonth = null } = parsedLimits(row) ?? {}
  return {
    type: 'partyLimitPolicy',
    id: row.id,
    attributes: {
      limits: row.limits === null ? null : { perTransaction, perDay, perMonth },
      currency: row.limits === null ? null : 'USD',
      updatedAt: timestampOrNull(row.limitsUpdatedAtMs),
    },
    relationships: { party: { data: { type: 'party', id: row.id } } },
  }
}

function memberView(row: UserRow): z.output<typeof Member> {
  const { id, partyId, role, status, name, email, createdAtMs, updatedAtMs } = row
  const [firstName = null, ...rest] = name.trim().split(/\s+/)
  return {
    type: 'user',
    id,
    attributes: {
      partyId,
      role,
      status,
      firstName,
      lastName: rest.join(' ') || null,
      email,
      createdAt: timestamp(createdAtMs),
      updatedAt: timestamp(updatedAtMs ?? createdAtMs),
    },
    relationships: { party: { data: { type: 'party', id: partyId } } },
  }
}

export function complianceCaseView({
  id,
  partyId,
  status,
  version,
}: ComplianceCaseRow): z.output<typeof ComplianceCase> {
  return { type: 'compliance_case', id, attributes: { partyId, status }, version }
}
