import type { OperationKey } from '../../../../../tools/index.ts'
import { timestamp } from '../../../../core/system.ts'

/** What a form of the page asks for: an operation, and what it is sent. */
export interface Asked {
  key: OperationKey
  params?: Record<string, string>
  query?: Record<string, string>
  attributes?: object
}

/** A form that cannot be sent as it is, and what helps. */
export interface Unfit {
  problem: string
}

type Form = (sent: URLSearchParams, next: number | null) => Asked | Unfit

const seconds =
  (count: number): Form =>
  () => ({ key: 'advanceSandboxClock', attributes: { seconds: count } })

/** The forms of the page, by the last part of their addresses. */
export const forms: Readonly<Record<string, Form>> = {
  hour: seconds(3600),
  day: seconds(86_400),
  next: (_sent, next) =>
    next === null
      ? { problem: 'Nothing is to happen by itself: there is no moment to go to. Move the clock by a day instead.' }
      : {
          key: 'advanceSandboxClock',
          attributes: { to: timestamp(next) },
        },
  to: (sent) => ({
    key: 'advanceSandboxClock',
    attributes: { to: momentIn(sent.get('to') ?? '') },
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

/** What a field for a date and a time sends, in UTC, with or without seconds. */
const momentIn = (text: string) => (/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(text) ? `${text}Z` : text)

/** Empty fields are left out; a number that is none is sent as it is, so that the API says what is wrong with it. */
function faultIn(sent: URLSearchParams): object {
  const text = (name: string) => sent.get(name)?.trim() || undefined
  const number = (name: string) => {
    const given = text(name)
    return given === undefined || Number.isNaN(Number(given)) ? given : Number(given)
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
