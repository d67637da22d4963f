import { sha256 } from '../../core/system.ts'
import type { Principal } from './host-context.ts'

/** The key in `_meta` with which a host chooses the instance id if it cannot set X-Instance-ID. */
export const instanceMetaKey = 'payments-mcp/instanceId'

const printable = /^[\x20-\x7e]{1,1024}$/

/**
 * Returns the instance id that the host chose in X-Instance-ID or in `_meta`. If the id is invalid, returns an error
 * message.
 */
export function chosenInstanceId(headers: Headers, params: unknown): { id: string | undefined } | { problem: string } {
  const inMeta = (params as { _meta?: Record<string, unknown> } | undefined)?._meta?.[instanceMetaKey]
  const header = headers.get('x-instance-id')
  const id = header === null || header === '' ? inMeta : header
  if (id === undefined) return { id: undefined }
  if (typeof id === 'string' && printable.test(id)) return { id }
  const where = id === inMeta ? `_meta[${JSON.stringify(instanceMetaKey)}]` : 'X-Instance-ID'
  const got = typeof id === 'string' ? `a string of ${id.length} characters` : typeof id
  return { problem: `${where} got ${got}; it accepts 1 to 1024 printable ASCII characters.` }
}

/**
 * Derives the instance id for MCP 2026 requests in which the host chose no id. These requests have no session, so the
 * id depends only on the principal and the client.
 */
export function stableInstanceId({ id, clientId }: Principal, clientInfo: unknown): string {
  const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown }
  const client = clientId === undefined ? ['info', name, version] : ['client', clientId]
  return `run_${sha256(JSON.stringify([id, ...client])).slice(0, 32)}`
}
