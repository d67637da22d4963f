import { catalogue, type OperationKey } from '../../../tools/index.ts'
import { fail } from '../../core/errors.ts'
import { isStopped, type PartyStatus } from '../rules/parties.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findParty } from '../store/parties.ts'

const refusedOperations = [
  'createPayment',
  'createWire',
  'createWithdrawal',
  'createDeposit',
  'approveApproval',
  'simulateCustomerApproval',
  'createPaymentRequest',
  'fulfillPaymentRequest',
  'createSubscription',
  'resumeSubscription',
  'issueAgentCard',
  'linkExternalAccounts',
  'simulateBankAccountLink',
  'createCustomerInvitation',
  'createAgentCustomerInvitation',
  'simulateCustomerInvitation',
  'createInvitationLink',
  'createPartyInvitations',
  'createAgent',
  'createAgentKey',
  'rotateAgentKey',
  'attachWalletAgent',
  'createApiKey',
] as const satisfies readonly OperationKey[]

/** The names of the operations that a suspended or inactive party may not use (docs/service.md#suspended-parties). */
export const refusedWhileStopped: ReadonlySet<string> = new Set(refusedOperations.map((key) => catalogue[key].name))

/**
 * Returns the status of a party. A party that does not exist counts as active, because it has no records that an
 * operation could change.
 */
export async function findPartyStatus(tx: Transaction, partyId: string): Promise<PartyStatus> {
  return (await findParty(tx, partyId))?.status ?? 'ACTIVE'
}

const words = {
  SUSPENDED: 'suspended: its compliance case was rejected. Once the case is approved, the operation is allowed again',
  INACTIVE: 'inactive: it was closed',
} as const

/**
 * Refuses an operation if the party is suspended or inactive. It is not called for the operations that such a party may
 * still use: operations that read or end its records, or that receive money (docs/service.md#suspended-parties).
 * @throws 403 `forbidden`.
 */
export function requireNotStopped(status: PartyStatus, partyId: string, act: string): void {
  if (!isStopped(status)) return
  fail('forbidden', { detail: `${act} is refused because the account ${partyId} is ${words[status]}.` })
}
