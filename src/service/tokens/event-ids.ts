import { hmac } from '../../core/system.ts'
import type { Transaction } from '../store/engine/store.ts'
import { lastingTexts, rootKeys } from '../store/root-keys.ts'
import type { EventRow } from '../store/schema/events.ts'

type NumberedEvent = Pick<EventRow, 'partyId' | 'sequence' | 'recordedAtMs'>

/**
 * Event ids are computed, not stored. An id contains the event's number in the party's outbox, but only a holder of the
 * root key can read this number. A sandbox reset reuses numbers, but not ids, because an id also depends on the real
 * time at which the event was recorded. Events restored from a snapshot keep their ids.
 */
interface EventIds {
  idOf(event: NumberedEvent): string
  /**
   * Decodes the number in an event id; undefined for a string of another form. A forged id also yields a number, so the
   * caller must read the party's event with this number and compare its id.
   */
  sequenceIn(partyId: string, id: string): number | undefined
}

const [signDigits, numberDigits] = [20, 12]

const pattern = new RegExp(`^evt_([0-9a-f]{${signDigits}})([0-9a-f]{${numberDigits}})$`)

export async function eventIds(tx: Transaction): Promise<EventIds> {
  const key = (await tx.shared(rootKeys)).lasting(lastingTexts.eventIds)
  // Hides an event's number by XOR with digits derived from the event's signature. A second call restores the number.
  const xorMask = (partyId: string, sign: string, number: bigint) =>
    number ^ BigInt(`0x${hmac(key, `number ${partyId} ${sign}`).slice(0, numberDigits)}`)
  return {
    idOf: ({ partyId, sequence, recordedAtMs }) => {
      const sign = hmac(key, `event ${partyId} ${sequence} ${recordedAtMs}`).slice(0, signDigits)
      return `evt_${sign}${xorMask(partyId, sign, BigInt(sequence)).toString(16).padStart(numberDigits, '0')}`
    },
    sequenceIn: (partyId, id) => {
      const [, sign = '', number = ''] = pattern.exec(id) ?? []
      return sign === '' ? undefined : Number(xorMask(partyId, sign, BigInt(`0x${number}`)))
    },
  }
}
