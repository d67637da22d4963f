import { hmac } from '../../core/system.ts'
import type { Transaction } from '../store/engine/store.ts'
import { lastingTexts, rootKeys } from '../store/root-keys.ts'
import type { EventRow } from '../store/schema/events.ts'

type NumberedEvent = Pick<EventRow, 'partyId' | 'sequence' | 'recordedAtMs'>

/**
 * Computes event ids. The ids are not stored with the events. An id contains the event's sequence number in encrypted
 * form; only this service can decrypt the number. After a sandbox reset, the same sequence numbers are used again. The
 * ids are still new, because an id also depends on the real time at which the event was recorded. Events restored from
 * a snapshot keep their ids.
 */
interface EventIds {
  idOf(event: NumberedEvent): string
  /**
   * Decrypts the sequence number in an event id. Returns undefined if the string does not have the form of an event id.
   * A forged id also yields a number, so the caller must read the event with this number and compare that event's id.
   */
  sequenceIn(partyId: string, id: string): number | undefined
}

const [signDigits, numberDigits] = [20, 12]

const pattern = new RegExp(`^evt_([0-9a-f]{${signDigits}})([0-9a-f]{${numberDigits}})$`)

export async function eventIds(tx: Transaction): Promise<EventIds> {
  const key = (await tx.shared(rootKeys)).lasting(lastingTexts.eventIds)
  // Encrypts an event's number by XOR with digits derived from the event's signature. The same XOR also decrypts it.
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
