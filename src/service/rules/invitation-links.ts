import type { linkStatuses } from '../../../tools/invitation-links.ts'
import { fail } from '../../core/errors.ts'
import { next, type Transitions } from './transitions.ts'

export type LinkStatus = (typeof linkStatuses)[number]
type LinkEvent = 'revoke'

export const linkTransitions = {
  ACTIVE: { revoke: 'REVOKED' },
  REVOKED: {},
} as const satisfies Transitions<LinkStatus, LinkEvent>

/** Returns the status of a link after its revocation. @throws 409 `conflict` if the link is already revoked. */
export function revokedLink(status: LinkStatus): LinkStatus {
  const after = next<LinkStatus, LinkEvent>(linkTransitions, status, 'revoke')
  return after ?? fail('conflict', { detail: `Only an active link can be revoked, and this one is ${status}.` })
}

/** Returns whether the link is open, revoked or expired. The stored status does not change when the link expires. */
export function linkState(
  link: { status: LinkStatus; expiresAtMs: number | null },
  nowMs: number,
): 'open' | 'revoked' | 'expired' {
  if (link.status === 'REVOKED') return 'revoked'
  return link.expiresAtMs !== null && link.expiresAtMs <= nowMs ? 'expired' : 'open'
}

/** The permissions and limits that an invitation link requests for one agent. */
export interface ProposedAgent {
  agentId: string
  permissions: string[]
  limits: { perTransaction?: number | null | undefined } | null
}
