import type { OperationKey } from '../../../../../tools/index.ts'
import { timestamp } from '../../../../core/system.ts'
import type { ClockSeen } from './read-sandbox.ts'

/** The API operation to run for a submitted form, with its input. */
export interface FormRequest {
  key: OperationKey
  params?: Record<string, string>
  query?: Record<string, string>
  attributes?: object
}

/**
 * A function that converts a submitted form to an API request. It returns null if the clock has already reached the
 * requested time.
 */
type Form = (sent: URLSearchParams, clock: ClockSeen) => FormRequest | null

/**
 * Creates a form that moves the clock forward by `ms`. The move starts from the offset that the clock had when the page
 * was rendered, so submitting the same form twice moves the clock only once.
 */
const advanceBy =
  (ms: number): Form =>
  (sent, { nowMs, movedMs }) => {
    const shownMs = Number(sent.get('moved') ?? movedMs)
    return movedTo(nowMs + Math.min(ms, shownMs + ms - movedMs), nowMs)
  }

function movedTo(toMs: number, nowMs: number): FormRequest | null {
  return toMs > nowMs ? { key: 'advanceSandboxClock', attributes: { to: timestamp(toMs) } } : null
}

/** The forms of the page. The keys are the last segments of the forms' addresses. */
export const forms: Readonly<Record<string, Form>> = {
  hour: advanceBy(3_600_000),
  day: advanceBy(86_400_000),
  next: (sent, { nowMs }) => movedTo(Number(sent.get('at')), nowMs),
  to: (sent) => ({
    key: 'advanceSandboxClock',
    attributes: { to: utcTimestamp(sent.get('to') ?? '') },
  }),
  fault: (sent) => ({ key: 'setSandboxFault', attributes: faultIn(sent) }),
  clear: (sent) => {
    const faultId = sent.get('faultId')
    const query = faultId === null ? {} : { faultId }
    return { key: 'clearSandboxFaults', query }
  },
  reset: () => ({ key: 'resetSandbox', attributes: {} }),
  save: (sent) => ({ key: 'saveSandbox', attributes: { name: sent.get('name') ?? '' } }),
  restore: (sent) => ({
    key: 'restoreSandbox',
    params: { name: sent.get('name') ?? '' },
  }),
  delete: (sent) => ({
    key: 'deleteSandboxSnapshot',
    params: { name: sent.get('name') ?? '' },
  }),
}

/** Converts the value of a date and time field to a timestamp in UTC. Returns any other string unchanged. */
const utcTimestamp = (text: string) => (/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(text) ? `${text}Z` : text)

/**
 * Returns the fault that a form describes, without the empty fields. Leaves invalid numbers unchanged, so that the API
 * reports them.
 */
function faultIn(sent: URLSearchParams): object {
  const text = (name: string) => sent.get(name)?.trim() || undefined
  const number = (name: string) => {
    const value = text(name)
    return value === undefined || Number.isNaN(Number(value)) ? value : Number(value)
  }
  const when = {
    nth: number('nth'),
    every: number('every'),
    times: number('times'),
    probability: number('probability'),
    instanceId: text('instanceId'),
  }
  const isAny = Object.values(when).some((value) => value !== undefined)
  return {
    id: text('id'),
    operation: text('operation'),
    path: text('path'),
    fault: text('fault'),
    code: text('code') ?? (text('fault') === 'error' ? 'server_error' : undefined),
    afterMs: number('afterMs'),
    ...(isAny ? { when } : {}),
  }
}
