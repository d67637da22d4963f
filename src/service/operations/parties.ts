import type { z } from 'zod'
import type { Member, parties } from '../../../tools/parties.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import type { HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import type { UserRow } from '../store/schema/users.ts'
import { listMembers } from '../store/users.ts'

const absent = async () => fail('not_implemented')

export const partyHandlers = {
  getParty: absent,
  updateParty: absent,
  setPartyHandle: absent,
  getPartyLimits: absent,
  setPartyLimits: absent,
  clearPartyLimits: absent,

  listPartyMembers: async (input, { tx, partyId }) => {
    const list = { list: 'members', partyId }
    return page(await listMembers(tx, partyId, pageRequest(input, list)), list, memberView)
  },

  removePartyMember: absent,
  getPartyCompliance: absent,
  simulateComplianceDecision: absent,
} satisfies HandlersOf<typeof parties>

export function memberView(row: UserRow): z.output<typeof Member> {
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
      updatedAt: updatedAtMs === null ? null : timestamp(updatedAtMs),
    },
    relationships: { party: { data: { type: 'party', id: partyId } } },
  }
}
