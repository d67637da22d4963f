import { newId, type System } from '../../../core/system.ts'
import { type ComplianceStatus, partyAfter, requireDecidable } from '../../rules/parties.ts'
import { expireUnusedCardsOfParty } from '../../store/agent-cards.ts'
import { agentsOf } from '../../store/agents.ts'
import { decideComplianceCase, findComplianceCase, insertComplianceCase } from '../../store/compliance-cases.ts'
import { cancelInvitationsOfParty } from '../../store/customer-invitations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { revokeLinksOf } from '../../store/invitation-links.ts'
import { updateParty } from '../../store/parties.ts'
import type { ComplianceCaseRow } from '../../store/schema/compliance-cases.ts'
import type { PartyRow } from '../../store/schema/parties.ts'

/**
 * Decides a party's compliance case, and applies the consequences to the party. If the party has no case yet, creates
 * one. If the case already has the decided status, changes nothing.
 * @throws 409 `conflict` if the current status of the case does not allow the decision.
 */
export async function decideCompliance(
  { tx, system, nowMs }: { tx: Transaction; system: System; nowMs: number },
  party: PartyRow,
  decision: ComplianceStatus,
): Promise<ComplianceCaseRow> {
  const before = await findComplianceCase(tx, party.id)
  if (before?.status === decision) return before
  if (before !== undefined) requireDecidable(before.status, decision)
  const decided =
    before === undefined
      ? await insertComplianceCase(tx, {
          id: newId('cmp', system, nowMs),
          partyId: party.id,
          status: decision,
          version: 1,
          createdAtMs: nowMs,
          updatedAtMs: nowMs,
        })
      : await decideComplianceCase(tx, before, { status: decision, updatedAtMs: nowMs })
  const change = partyAfter(party.status, decision)
  const isSame = party.status === change.status && party.issuedCardsEnabled === change.issuedCardsEnabled
  if (!isSame) await updateParty(tx, party, change, nowMs)
  if (change.status === 'SUSPENDED' && party.status !== 'SUSPENDED') await stopParty(tx, party.id, nowMs)
  return decided
}

/**
 * Applies the consequences of stopping a party, for example by suspending it: expires the unused cards of the party and
 * its agents, cancels the pending invitations that the party sent, and revokes the party's invitation links.
 */
export async function stopParty(tx: Transaction, partyId: string, nowMs: number): Promise<void> {
  await expireUnusedCardsOfParty(tx, { partyId, agentIds: agentsOf(tx.db, partyId) }, nowMs)
  await cancelInvitationsOfParty(tx, partyId, nowMs)
  await revokeLinksOf(tx, partyId, nowMs)
}
