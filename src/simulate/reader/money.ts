import { parseTimestamp } from '../../core/system.ts'
import { isInvited } from '../action.ts'
import { clockStepSeconds, type Facts } from '../facts.ts'
import { type Names, nameOf, related, spanMs, type Wire } from './names.ts'

const dayMs = 24 * 60 * 60 * 1000

export const readMoney: Record<string, (state: Names, wire: Wire) => Facts> = {
  wallet: (state, wire) => {
    const { available, total } = wire.attributes?.balance ?? {}
    const name = nameOf(state, wire.id)
    // The wallet of a customer that a run made up is used by one agent only.
    const balance = state.ordered || isInvited(name) ? { available, total } : {}
    // Only what a bank took back of a deposit makes it less than nothing, which the balance tells where it is known.
    const least = 'available' in balance ? Number.NEGATIVE_INFINITY : 0
    return { type: 'wallet', name, ...balance, sound: least <= available && available <= total }
  },
  clock: (state, wire) => {
    const nowMs = parseTimestamp(wire.attributes?.now)
    const steps = Math.floor((nowMs - state.clockMs) / 1000 / clockStepSeconds)
    state.clockMs = nowMs
    return { type: 'clock', advancedSeconds: steps * clockStepSeconds }
  },
  payment: (state, wire) => {
    const { status, amount, currency, claimLink } = wire.attributes ?? {}
    return {
      type: 'payment',
      name: nameOf(state, wire.id),
      ...{ status, amount, currency },
      sender: related(state, wire, 'sender') ?? 'nobody',
      recipient: related(state, wire, 'recipient'),
      customer: related(state, wire, 'customerParty'),
      claimable: typeof claimLink === 'string' && claimLink !== '',
      request: related(state, wire, 'paymentRequest'),
    }
  },
  approval: (state, wire) => {
    const { status, target, payment, reasons, customer, initiator, resolvedAt } = wire.attributes ?? {}
    return {
      type: 'approval',
      name: nameOf(state, wire.id),
      status,
      payment: nameOf(state, target?.id),
      amount: payment?.amount,
      reasons: (Array.isArray(reasons) ? reasons : [])
        .map(({ limitType, limitAmount, actualAmount }) => `${limitType} ${limitAmount}, was ${actualAmount}`)
        .join('; '),
      customer: customer === null ? null : nameOf(state, customer?.id),
      initiator: initiator?.actorType,
      resolved: typeof resolvedAt === 'string',
    }
  },
  agentDelegationInvitation: (state, wire) => {
    const { status, effectiveStatus, permissions, limits, createdAt, expiresAt, cancelReason } = wire.attributes ?? {}
    return {
      type: 'invitation',
      name: nameOf(state, wire.id),
      status: status === effectiveStatus ? status : `${status}, ${effectiveStatus} in effect`,
      permissions: String(permissions),
      limit: limits?.perTransaction ?? null,
      days: spanMs(createdAt, expiresAt) / dayMs,
      reason: cancelReason,
      customer: related(state, wire, 'customerParty'),
    }
  },
  customerInvitation: (state, wire) => {
    const { status, recipient, permissions, limits, createdAt, expiresAt } = wire.attributes ?? {}
    return {
      type: 'agentInvitation',
      name: nameOf(state, wire.id),
      status,
      to: nameOf(state, recipient?.value),
      permissions: String(permissions),
      limit: limits?.perTransaction ?? null,
      days: spanMs(createdAt, expiresAt) / dayMs,
    }
  },
  customer: (state, wire) => {
    const { delegation, agents } = wire.attributes ?? {}
    const [agent] = Array.isArray(agents) ? agents : []
    return {
      type: 'customer',
      name: nameOf(state, wire.id),
      status: delegation?.status === agent?.status ? agent?.status : `${delegation?.status}, agent ${agent?.status}`,
      permissions: String(agent?.permissions),
      limit: agent?.limits?.perTransaction ?? null,
    }
  },
}
