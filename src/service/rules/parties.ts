import type { z } from 'zod'
import type { ComplianceCase, partyStatuses } from '../../../tools/parties.ts'
import { fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

export type PartyStatus = (typeof partyStatuses)[number]
export type ComplianceStatus = z.output<typeof ComplianceCase>['attributes']['status']

/** A party's profile, without the fields that are used to find parties, such as the email address. */
export interface PartyProfile {
  legalName?: string
  firstName?: string
  lastName?: string
  avatarUrl?: string
  persona?: 'INDIVIDUAL' | 'DEVELOPER'
  addressLine1?: string
  addressCity?: string
  addressState?: string
  addressPostalCode?: string
  addressCountry?: string
  /** True if the party removed its display name. Other parties then see the name that `nameOf` returns. */
  isUnnamed?: true
}

/** Returns the name that other parties see if a party has no display name. */
export function nameOf(profile: PartyProfile, address: { email: string | null; handle: string | null }): string {
  const { legalName, firstName, lastName } = profile
  const person = [firstName, lastName].filter((name) => name !== undefined).join(' ')
  return legalName ?? (person || (address.email ?? (address.handle === null ? 'Without a name' : `@${address.handle}`)))
}

/** The transitions of a compliance case (docs/service.md#compliance). `none` means that the party has no case yet. */
export const complianceTransitions = {
  none: {
    preparingSubmission: 'preparingSubmission',
    submitted: 'submitted',
    actionRequired: 'actionRequired',
    approved: 'approved',
    rejected: 'rejected',
  },
  preparingSubmission: { submitted: 'submitted' },
  submitted: { actionRequired: 'actionRequired', approved: 'approved', rejected: 'rejected' },
  actionRequired: { submitted: 'submitted', approved: 'approved', rejected: 'rejected' },
  approved: { actionRequired: 'actionRequired', rejected: 'rejected' },
  rejected: { submitted: 'submitted', actionRequired: 'actionRequired', approved: 'approved' },
} as const satisfies Transitions<'none' | ComplianceStatus, ComplianceStatus>

/** Refuses a decision that the case's status does not allow. @throws 409 `conflict` with the possible decisions. */
export function requireDecidable(before: ComplianceStatus, decision: ComplianceStatus): void {
  const possible: Readonly<Partial<Record<ComplianceStatus, ComplianceStatus>>> = complianceTransitions[before]
  if (next<'none' | ComplianceStatus, ComplianceStatus>(complianceTransitions, before, decision) !== undefined) return
  fail('conflict', {
    detail: `A compliance case that is ${before} cannot become ${decision}; it can become ${Object.keys(possible).join(' or ')}.`,
  })
}

/**
 * Returns the status of a party after a compliance decision, and whether issued cards are enabled for this party. A
 * suspended party stays suspended until its case is approved.
 */
export function partyAfter(
  before: PartyStatus,
  decision: ComplianceStatus,
): { status: PartyStatus; issuedCardsEnabled: 0 | 1 } {
  if (decision === 'approved') return { status: 'ACTIVE', issuedCardsEnabled: 1 }
  const isSuspended = decision === 'rejected' || before === 'SUSPENDED'
  return { status: isSuspended ? 'SUSPENDED' : 'PROVISIONAL', issuedCardsEnabled: 0 }
}

/** Returns whether the party is stopped: it cannot move money out of its wallets or give anyone authority over them. */
export function isStopped(status: PartyStatus): status is 'SUSPENDED' | 'INACTIVE' {
  return status === 'SUSPENDED' || status === 'INACTIVE'
}
