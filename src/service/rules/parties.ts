import type { z } from 'zod'
import type { ComplianceCase, partyStatuses } from '../../../tools/parties.ts'
import { fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

export type PartyStatus = (typeof partyStatuses)[number]
export type ComplianceStatus = z.output<typeof ComplianceCase>['attributes']['status']

/** A party's profile, without the fields by which parties are looked up. */
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
  /** True if the party removed its display name. Others then see its legal name. */
  isUnnamed?: true
}

/** Returns the name that others see for a party without a display name. */
export function nameOf(profile: PartyProfile, address: { email: string | null; handle: string | null }): string {
  const { legalName, firstName, lastName } = profile
  const person = [firstName, lastName].filter((name) => name !== undefined).join(' ')
  return legalName ?? (person || (address.email ?? (address.handle === null ? 'Without a name' : `@${address.handle}`)))
}

/** The transitions of a compliance case, which may start in any status (docs/service.md#compliance). */
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

/** Requires that the case can be decided this way. @throws 409 `conflict` naming the possible decisions. */
export function requireDecidable(before: ComplianceStatus, decision: ComplianceStatus): void {
  const leads: Readonly<Partial<Record<ComplianceStatus, ComplianceStatus>>> = complianceTransitions[before]
  if (next<'none' | ComplianceStatus, ComplianceStatus>(complianceTransitions, before, decision) !== undefined) return
  fail('conflict', {
    detail: `A compliance case that is ${before} cannot become ${decision}; it can become ${Object.keys(leads).join(' or ')}.`,
  })
}

/** Returns the status of a party after a decision. A suspended party stays suspended until its case is approved. */
export function partyAfter(
  before: PartyStatus,
  decision: ComplianceStatus,
): { status: PartyStatus; issuedCardsEnabled: 0 | 1 } {
  if (decision === 'approved') return { status: 'ACTIVE', issuedCardsEnabled: 1 }
  const isStopped = decision === 'rejected' || before === 'SUSPENDED'
  return { status: isStopped ? 'SUSPENDED' : 'PROVISIONAL', issuedCardsEnabled: 0 }
}

/** Returns whether the party is stopped: no money may leave it, and it may grant nothing. */
export function isStopped(status: PartyStatus): status is 'SUSPENDED' | 'INACTIVE' {
  return status === 'SUSPENDED' || status === 'INACTIVE'
}
