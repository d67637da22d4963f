import { parseTimestamp } from '../core/system.ts'
import type { Action } from './action.ts'
import { clockStepSeconds, type Facts } from './facts.ts'

/** A tool call's answer. */
export interface ToolAnswer {
  isError: boolean
  /** The structured content, or the JSON in an error's text. */
  content: unknown
  /** The key under which a refused call can be repeated. */
  repeatKey?: string | undefined
}

export interface Reader {
  /** Returns the facts of an answer, and remembers the id of the record that the action created. */
  read(action: Action, answer: ToolAnswer): Facts
  /** Returns the id of the record with this name. */
  idOf(name: string): string
  nameId(name: string, id: string): void
  /** Returns whether the id has a name in this run. */
  knows(id: string): boolean
}

/** A resource or an error in an answer. A faulty service may omit any field. */
interface Wire {
  type?: string
  id?: string
  // biome-ignore lint/suspicious/noExplicitAny: the service under test may answer anything.
  attributes?: any
  relationships?: Record<string, { data?: { id?: string } | null } | undefined>
}

interface State {
  ids: Map<string, string>
  names: Map<string, string>
  /** Each card's expiry, by the card's id. The card's details must show the same expiry. */
  expiryMs: Map<string, number>
  cardNumber: string | undefined
  clockMs: number
  ordered: boolean
}

/** Creates a reader of answers. @param clockMs the service's time when the run begins */
export function createReader(clockMs: number, ordered: boolean): Reader {
  const [ids, names] = [new Map<string, string>(), new Map<string, string>()]
  const state: State = { ids, names, expiryMs: new Map(), cardNumber: undefined, clockMs, ordered }
  const nameId = (name: string, id: string) => {
    ids.set(name, id)
    names.set(id, name)
  }
  return {
    nameId,
    knows: (id) => names.has(id),
    idOf: (name) => {
      const id = ids.get(name)
      if (id === undefined) throw new Error(`Bug: ${name} has no id yet.`)
      return id
    },
    read: ({ makes }, answer) => {
      if (answer.isError) return errorFacts(answer.content)
      const { data } = (answer.content ?? {}) as { data?: unknown }
      const records = (Array.isArray(data) ? data : [data]) as (Wire | undefined)[]
      const id = records[0]?.id
      if (makes !== undefined && id !== undefined && !names.has(id)) nameId(makes, id)
      const facts = records.map((resource) => factsOf(state, resource ?? {}))
      return Array.isArray(data) ? { type: 'page', items: facts.sort(byName) } : (facts[0] as Facts)
    },
  }
}

function factsOf(state: State, wire: Wire): Facts {
  const read = wire.type === undefined ? undefined : readers[wire.type]
  if (read === undefined) return { type: 'error', code: `a resource of type ${wire.type}`, status: 200, pointer: null }
  return read(state, wire)
}

const readers: Readonly<Record<string, (state: State, wire: Wire) => Facts>> = {
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
    // The card's expiry is less than 31 days after the beginning of its month.
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
  wallet: (state, wire) => {
    const { available, total } = wire.attributes?.balance ?? {}
    const balance = state.ordered ? { available, total } : {}
    return { type: 'wallet', name: nameOf(state, wire.id), ...balance, sound: 0 <= available && available <= total }
  },
  clock: (state, wire) => {
    const nowMs = parseTimestamp(wire.attributes?.now)
    const steps = Math.floor((nowMs - state.clockMs) / 1000 / clockStepSeconds)
    state.clockMs = nowMs
    return { type: 'clock', advancedSeconds: steps * clockStepSeconds }
  },
}

function nameOf({ names }: State, id: string | undefined): string {
  return (id === undefined ? undefined : names.get(id)) ?? 'an unknown record'
}

function related(state: State, wire: Wire, name: string): string | null {
  const data = wire.relationships?.[name]?.data
  return data === null || data === undefined ? null : nameOf(state, data.id)
}

function spanMs(from: string, to: string): number {
  return parseTimestamp(to) - parseTimestamp(from)
}

/** Checks the Luhn check digit of a card number (ISO/IEC 7812-1, annex B). */
function isCardNumber(text: string): boolean {
  if (!/^\d{12,19}$/.test(text)) return false
  const sum = [...text].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

function errorFacts(content: unknown): Facts {
  const error = (content as { error?: { code?: string; status?: number; source?: { pointer?: string } } })?.error
  const { code = 'an error without a code', status = 0, source } = error ?? {}
  return { type: 'error', code, status, pointer: source?.pointer ?? null }
}

function byName(one: Facts, other: Facts): number {
  return 'name' in one && 'name' in other && one.name < other.name ? -1 : 1
}
