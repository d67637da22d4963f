import { parseTimestamp } from '../../core/system.ts'
import type { Facts } from '../facts.ts'
import { type Names, nameOf, related, spanMs, type Wire } from './names.ts'

export const readCards: Record<string, (state: Names, wire: Wire) => Facts> = {
  agentCard: (state, wire) => {
    const { status, merchant, maximumAmount, currency, createdAt, expiresAt } = wire.attributes ?? {}
    state.expiryMs.set(wire.id ?? '', parseTimestamp(expiresAt))
    return {
      type: 'agentCard',
      name: nameOf(state, wire.id),
      status,
      merchant: merchant?.name,
      maximum: maximumAmount,
      currency,
      minutes: spanMs(createdAt, expiresAt) / 60_000,
      wallet: related(state, wire, 'wallet') ?? 'none',
    }
  },
  agentCardDetails: (state, wire) => {
    const { number, cvv, expirationMonth, expirationYear } = wire.attributes ?? {}
    state.cardNumber ??= number
    const expiry = parseTimestamp(`${expirationYear}-${String(expirationMonth).padStart(2, '0')}-01T00:00:00Z`)
    const ownMs = state.expiryMs.get(wire.id ?? '') ?? Number.NaN
    // The month that holds the card's expiry begins at most 31 days before it.
    const ownExpiration = ownMs >= expiry && ownMs - expiry < 31 * 24 * 60 * 60 * 1000
    return {
      type: 'agentCardDetails',
      name: nameOf(state, wire.id),
      validNumber: number === state.cardNumber && isCardNumber(String(number)),
      validCvv: /^\d{3,4}$/.test(String(cvv)),
      ownExpiration,
    }
  },
  cardTransaction: (state, wire) => {
    const { kind, status, amount, currency, merchant, held, captured, refunded, decline, holdExpiresAt, createdAt } =
      wire.attributes ?? {}
    return {
      type: 'cardTransaction',
      name: nameOf(state, wire.id),
      kind,
      status,
      amount,
      currency,
      merchant: merchant?.name,
      held,
      captured,
      refunded,
      decline: decline?.code ?? null,
      holdHours: holdExpiresAt === null ? null : spanMs(createdAt, holdExpiresAt) / 3_600_000,
      card: related(state, wire, 'agentCard') ?? 'none',
      purchase: related(state, wire, 'purchase'),
      wallet: related(state, wire, 'wallet') ?? 'none',
    }
  },
}

/** ISO/IEC 7812-1, annex B: the Luhn check digit. */
function isCardNumber(text: string): boolean {
  if (!/^\d{12,19}$/.test(text)) return false
  const sum = [...text].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}
