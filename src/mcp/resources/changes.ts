import type { CallResult } from '../../client/client.ts'
import { modernVersion } from '../../core/mcp-versions.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { Dependencies } from '../dependencies.ts'
import { addressOf, watchable } from './kinds.ts'

interface Reference {
  id: string
}

interface Answered extends Reference {
  relationships?: Record<string, { data?: Reference | null } | undefined>
}

/** Tells a host that watches what a call of its own changed, at once. */
export function announceChanges(
  { server, changes, subscriptions, run, log }: Dependencies,
  { customerPartyId }: Record<string, unknown>,
  { data }: CallResult<OperationDefinition>,
): void {
  if (changes.areToldElsewhere) return
  const touched = touchedBy(data, customerPartyId)
  const runId = run.id()
  if (runId !== undefined) touched.push(addressOf('activity', runId))
  // In the 2025 era only what was subscribed to is sent; in the later one whoever routes the notifications holds the filter.
  const isRouted = (server.getNegotiatedProtocolVersion() ?? '') >= modernVersion
  for (const uri of new Set(touched)) {
    if (isRouted || subscriptions.has(uri)) {
      server.sendResourceUpdated({ uri }).catch((error: unknown) => log.warn({ err: error }, 'a change is not told'))
    }
  }
}

/** The answered resources and those they name: a purchase uses its card up, a refund changes its purchase. */
function touchedBy(data: unknown, customerPartyId: unknown): string[] {
  const answered = (Array.isArray(data) ? data : [data]) as Answered[]
  const references = answered.flatMap((resource) => [
    resource,
    ...Object.values(resource.relationships ?? {}).flatMap((related) => related?.data ?? []),
  ])
  return references.flatMap(({ id }) => watchable(id, customerPartyId))
}
