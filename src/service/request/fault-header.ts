import { type ErrorCode, errorTable, fail, show } from '../../core/errors.ts'
import { type Fault, type FaultKind, faultKinds, longestFaultMs } from '../../core/faults.ts'
import { type FaultableOperation, isSuited } from '../rules/faults.ts'
import type { FaultCounts } from '../store/clock.ts'

/** The header that injects a fault into one request. An example of its value is `slow; afterMs=500`. */
export const faultHeader = 'X-Sandbox-Fault'

/**
 * Parses the fault header (docs/sandbox.md#one-request).
 * @throws 400 `invalid_value` if the header is malformed, or if its fault cannot be injected into the request.
 */
export function faultInHeader(text: string, operation: FaultableOperation | undefined, faults: FaultCounts): Fault {
  const [kind = '', ...parameters] = text.split(';').map((part) => part.trim())
  if (!isKind(kind)) refuse(`must begin with one of ${faultKinds.join(', ')}, got ${show(kind)}`)
  const fault: Fault = { kind }
  for (const parameter of parameters) {
    const [, name, value = ''] = /^(\w+)=(.*)$/.exec(parameter) ?? []
    if (name === 'code' && kind === 'error' && Object.hasOwn(errorTable, value)) fault.code = value as ErrorCode
    else if (name === 'afterMs' && (kind === 'slow' || kind === 'hang') && isDuration(value)) {
      fault.afterMs = Number(value)
    } else refuse(`accepts ${parametersOf[kind] ?? `no parameters with the fault ${kind}`}, got ${show(parameter)}`)
  }
  if (kind === 'error' && fault.code === undefined) refuse(`has the fault "error", which needs ${parametersOf.error}`)
  if (!isSuited(kind, operation)) {
    const suited = faultKinds.filter((one) => isSuited(one, operation)).join(', ')
    refuse(`has the fault ${kind}, which does not apply to ${operation?.name ?? 'this request'}. Use one of: ${suited}`)
  }
  if (kind === 'stale' && faults.staleRules === 0) {
    refuse('has the fault stale, but no earlier state is stored yet. Set a rule with that fault, then make a change')
  }
  return fault
}

const parametersOf: Partial<Record<FaultKind, string>> = {
  error: 'code=… with a code from the error table, such as rate_limited',
  slow: `afterMs=… from 0 to ${longestFaultMs} milliseconds`,
  hang: `afterMs=… from 0 to ${longestFaultMs} milliseconds`,
}

function isKind(text: string): text is FaultKind {
  return (faultKinds as readonly string[]).includes(text)
}

function isDuration(text: string): boolean {
  return /^\d{1,6}$/.test(text) && Number(text) <= longestFaultMs
}

function refuse(problem: string): never {
  return fail('invalid_value', { detail: `${faultHeader} ${problem}.`, source: { header: faultHeader } })
}
