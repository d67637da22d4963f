import type { Facts } from '../facts.ts'
import { type Names, nameOf, related, spanMs, type Wire } from './names.ts'

const dayMs = 24 * 60 * 60 * 1000

export const readBanks: Record<string, (state: Names, wire: Wire) => Facts> = {
  transfer: (state, wire) => {
    const { type: kind, status, amount, currency, method, expectedAvailableAt, failure } = wire.attributes ?? {}
    const day = method === 'standard' ? String(expectedAvailableAt).slice(0, 10) : 'in hours'
    return {
      type: 'transfer',
      name: nameOf(state, wire.id),
      ...{ kind, status, amount, currency, method },
      account: related(state, wire, 'externalAccount'),
      due: status === 'PROCESSING' ? day : null,
      why: failure?.code ?? wire.attributes?.return?.code ?? null,
    }
  },
  externalAccount: (state, wire) => {
    const { status, connectionStatus: connection, accountType: kind } = wire.attributes ?? {}
    return { type: 'externalAccount', name: nameOf(state, wire.id), status, connection, kind }
  },
  paymentRequest: (state, wire) => {
    const { status, amount, currency, transactionId, createdAt, expiresAt } = wire.attributes ?? {}
    return {
      type: 'paymentRequest',
      name: nameOf(state, wire.id),
      ...{ status, amount, currency },
      requester: related(state, wire, 'requesterParty') ?? 'nobody',
      payer: related(state, wire, 'payerParty'),
      payment: related(state, wire, 'payment'),
      paid: typeof transactionId === 'string',
      days: spanMs(createdAt, expiresAt) / dayMs,
    }
  },
}
