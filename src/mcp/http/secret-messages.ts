import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/server'
import { operationsByName } from '../../../tools/index.ts'
import { containsSecret, secretFields } from '../../core/secret-fields.ts'
import { parseAddress, type ResourceKind, resourceKinds } from '../resources/kinds.ts'

const kinds: Readonly<Record<string, ResourceKind>> = resourceKinds

/**
 * Returns whether a message to the host must not be stored: an answer that may contain a secret, or an elicitation that
 * sends a person to a private page.
 * @param request The request that the message answers; undefined if the message is not an answer.
 */
export function isSecretMessage(message: JSONRPCMessage, request: JSONRPCRequest | undefined): boolean {
  if ('method' in message) return message.method === 'elicitation/create' && message.params?.mode === 'url'
  if (!('result' in message)) return false
  const { method, params } = request ?? {}
  if (method === 'resources/read') return readsSecrets(String(params?.uri))
  const operation = method === 'tools/call' ? operationsByName.get(String(params?.name)) : undefined
  if (operation === undefined || secretFields(operation).length === 0) return false
  const { structuredContent, isError } = message.result as { structuredContent?: { data?: unknown }; isError?: boolean }
  // An answer without structured content may contain a secret, unless it is an error.
  return structuredContent === undefined ? isError !== true : containsSecret(operation, structuredContent.data)
}

function readsSecrets(uri: string): boolean {
  const kind = kinds[parseAddress(uri)?.kind ?? '']
  return kind !== undefined && secretFields(kind.read).length > 0
}
