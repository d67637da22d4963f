import type { parties } from '../../../tools/parties.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const partyHandlers: HandlersOf<typeof parties> = {
  getParty: absent,
  updateParty: absent,
  setPartyHandle: absent,
  getPartyLimits: absent,
  setPartyLimits: absent,
  clearPartyLimits: absent,
  listPartyMembers: absent,
  removePartyMember: absent,
  getPartyCompliance: absent,
  simulateComplianceDecision: absent,
}
