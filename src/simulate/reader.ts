import { parseTimestamp } from '../core/system.ts'
import type { Action } from './action.ts'
import { clockStepSeconds, type Facts } from './facts.ts'

/** A tool call's answer. */
export interface ToolAnswer {
  isError: boolean
  /** The structured content, or the JSON in an error's text. */
  content: unknown
  /** The idempotency key with which a failed call can be repeated. */
  repeatKey?: string | undefined
}

export interface Reader {
  /**
   * Returns the facts of an answer. If the action created a record, gives the record the name that the action chose
   * (`makes`).
   */
  read(action: Action, answer: ToolAnswer): Facts
  /** Returns the id of the record with this name. */
  idOf(name: string): string
  nameId(name: string, id: string): void
  /** Returns whether the record with this id has a name in this run. */
  hasName(id: string): boolean
}

/** A resource in an answer. A faulty service may omit any field. */
interface Resource {
  type?: string
  id?: string
  // biome-ignore lint/suspicious/noExplicitAny: the service under test may answer anything.
  attributes?: any
  relationships?: Record<string, { data?: { id?: string } | null } | undefined>
}

interface State {
  ids: Map<string, string>
  names: Map<string, string>
  /** Each card's time of expiry, keyed by the card's id. The card's details must show the same month and year. */
  expiryMs: Map<string, number>
  cardNumber: string | undefined
  clockMs: number
  ordered: boolean
}

/** Creates a reader of answers. @param clockMs the time of the sandbox clock when the run begins */
export function createReader(clockMs: number, ordered: boolean): Reader {
  const [ids, names] = [new Map<string, string>(), new Map<string, string>()]
  const state: State = { ids, names, expiryMs: new Map(), cardNumber: undefined, clockMs, ordered }
  const nameId = (name: string, id: string) => {
    ids.set(name, id)
    names.set(id, name)
  }
  return {
    nameId,
    hasName: (id) => names.has(id),
    idOf: (name) => {
      const id = ids.get(name)
      if (id === undefined) throw new Error(`Bug: ${name} has no id yet.`)
      return id
    },
    read: ({ makes }, answer) => {
      if (answer.isError) return errorFacts(answer.content)
      const { data } = (answer.content ?? {}) as { data?: unknown }
      const records = (Array.isArray(data) ? data : [data]) as (Resource | undefined)[]
      const id = records[0]?.id
      if (makes !== undefined && id !== undefined && !names.has(id)) nameId(makes, id)
      const facts = records.map((resource) => factsOf(state, resource ?? {}))
      return Array.isArray(data) ? { type: 'page', items: facts.sort(byName) } : (facts[0] as Facts)
    },
  }
}

function factsOf(state: State, resource: Resource): Facts {
  const read = resource.type === undefined ? undefined : readers[resource.type]
  if (read === undefined)
    return { type: 'error', code: `a resource of type ${resource.type}`, status: 200, pointer: null }
  return read(state, resource)
}

const readers: Readonly<Record<string, (state: State, resource: Resource) => Facts>> = {
  agentCard: (state, resource) => {
    const { status, merchant, maximumAmount, currency, createdAt, expiresAt } = resource.attributes ?? {}
    state.expiryMs.set(resource.id ?? '', parseTimestamp(expiresAt))
    return {
      type: 'agentCard',
      name: nameOf(state, resource.id),
      status,
      merchant: merchant?.name,
      maximum: maximumAmount,
      currency,
      minutes: spanMs(createdAt, expiresAt) / 60_000,
      wallet: related(state, resource, 'wallet') ?? 'none',
    }
  },
  agentCardDetails: (state, resource) => {
    const { number, cvv, expirationMonth, expirationYear } = resource.attributes ?? {}
    state.cardNumber ??= number
    const monthMs = parseTimestamp(`${expirationYear}-${String(expirationMonth).padStart(2, '0')}-01T00:00:00Z`)
    const expiryMs = state.expiryMs.get(resource.id ?? '') ?? Number.NaN
    // The month and year on a card must be the month and year of its time of expiry.
    const validExpiration = expiryMs >= monthMs && expiryMs - monthMs < 31 * 24 * 60 * 60 * 1000
    return {
      type: 'agentCardDetails',
      name: nameOf(state, resource.id),
      validNumber: number === state.cardNumber && isCardNumber(String(number)),
      validCvv: /^\d{3,4}$/.test(String(cvv)),
      validExpiration,
    }
  },
  cardTransaction: (state, resource) => {
    const { kind, status, amount, currency, merchant, held, captured, refunded, decline, holdExpiresAt, createdAt } =
      resource.attributes ?? {}
    return {
      type: 'cardTransaction',
      name: nameOf(state, resource.id),
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
      card: related(state, resource, 'agentCard') ?? 'none',
      purchase: related(state, resource, 'purchase'),
      wallet: related(state, resource, 'wallet') ?? 'none',
    }
  },
  wallet: (state, resource) => {
    const { available, total } = resource.attributes?.balance ?? {}
    const balance = state.ordered ? { available, total } : {}
    return { type: 'wallet', name: nameOf(state, resource.id), ...balance, sound: 0 <= available && available <= total }
  },
  clock: (state, resource) => {
    const nowMs = parseTimestamp(resource.attributes?.now)
    const steps = Math.floor((nowMs - state.clockMs) / 1000 / clockStepSeconds)
    state.clockMs = nowMs
    return { type: 'clock', advancedSeconds: steps * clockStepSeconds }
  },
}

function nameOf({ names }: State, id: string | undefined): string {
  return (id === undefined ? undefined : names.get(id)) ?? 'an unknown record'
}

function related(state: State, resource: Resource, name: string): string | null {
  const data = resource.relationships?.[name]?.data
  return data === null || data === undefined ? null : nameOf(state, data.id)
}

function spanMs(from: string, to: string): number {
  return parseTimestamp(to) - parseTimestamp(from)
}

/** Returns whether a string has 12 to 19 digits and a valid Luhn check digit (ISO/IEC 7812-1, annex B). */
function isCardNumber(number: string): boolean {
  if (!/^\d{12,19}$/.test(number)) return false
  const sum = [...number].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
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
