import { hmac } from '../../core/system.ts'
import type { Transaction } from '../store/engine/store.ts'
import { lastingTexts, rootKeys } from '../store/root-keys.ts'
import type { EventRow } from '../store/schema/events.ts'

type Of = Pick<EventRow, 'partyId' | 'sequence' | 'recordedAtMs'>

/**
 * The ids of events, which are computed and not stored. An id contains the event's number in the party's outbox, but
 * only holders of the root key can read it. The real time of recording is part of an id, so after a reset of the
 * sandbox numbers are reused, but ids never are. Restored events keep their ids.
 */
interface EventIds {
  idOf(event: Of): string
  /** Returns the number encoded in an id of the party. The caller must read that event and compare its id. */
  sequenceIn(partyId: string, id: string): number | undefined
}

const [signDigits, numberDigits] = [20, 12]

const pattern = new RegExp(`^evt_([0-9a-f]{${signDigits}})([0-9a-f]{${numberDigits}})$`)

export async function eventIds(tx: Transaction): Promise<EventIds> {
  const key = (await tx.shared(rootKeys)).lasting(lastingTexts.eventIds)
  // The event's signature also masks its number.
  const masked = (partyId: string, sign: string, number: bigint) =>
    number ^ BigInt(`0x${hmac(key, `number ${partyId} ${sign}`).slice(0, numberDigits)}`)
  return {
    idOf: ({ partyId, sequence, recordedAtMs }) => {
      const sign = hmac(key, `event ${partyId} ${sequence} ${recordedAtMs}`).slice(0, signDigits)
      return `evt_${sign}${masked(partyId, sign, BigInt(sequence)).toString(16).padStart(numberDigits, '0')}`
    },
    sequenceIn: (partyId, id) => {
      const [, sign = '', number = ''] = pattern.exec(id) ?? []
      return sign === '' ? undefined : Number(masked(partyId, sign, BigInt(`0x${number}`)))
    },
  }
}
