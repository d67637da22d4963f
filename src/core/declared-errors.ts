import { type ErrorCode, errorTable } from './errors.ts'
import type { OperationDefinition } from './operation.ts'

/** Lists the error codes that an operation may answer with, grouped by HTTP status in ascending order. */
export function errorsByStatus(operation: OperationDefinition): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes: ErrorCode[] = ['invalid_value', 'unauthenticated', 'forbidden', 'rate_limited', 'server_error']
  codes.push('service_unavailable', ...operation.errors)
  if (operation.instanceId === 'agents') codes.push('missing_instance_id')
  if (operation.idempotency === 'required') codes.push('conflict')
  const pairs = [...new Set(codes)].map((code): [number, ErrorCode] => [errorTable[code].status, code])
  // A request with an invalid attribute is refused with 422 and the code `invalid_value` (docs/service.md#400-or-422).
  if (operation.attributes !== undefined || operation.errors.includes('invalid_value'))
    pairs.push([422, 'invalid_value'])
  const byStatus = Map.groupBy(pairs, ([status]) => status)
  const ascending = [...byStatus].sort(([a], [b]) => a - b)
  return new Map(ascending.map(([status, group]) => [status, group.map(([, code]) => code)]))
}

/** Returns whether the operation may answer with this status and error code. */
export function declaresError(operation: OperationDefinition, status: number, code: string): boolean {
  const codes: readonly string[] = errorsByStatus(operation).get(status) ?? []
  return codes.includes(code)
}
