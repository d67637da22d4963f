import type { CallResult } from '../../client/client.ts'
import { modernVersion } from '../../core/mcp-versions.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { Dependencies } from '../dependencies.ts'
import { addressOf, watchable } from './kinds.ts'

interface Reference {
  id: string
}

interface AnsweredResource extends Reference {
  relationships?: Record<string, { data?: Reference | null } | undefined>
}

/** Notifies the host, without delay, of changes that its own call made to resources that the host has subscribed to. */
export function announceChanges(
  { server, changes, subscriptions, run, log }: Dependencies,
  { customerPartyId }: Record<string, unknown>,
  { data }: CallResult<OperationDefinition>,
): void {
  // Most hosts watch nothing. For them, finding the changed resources would waste 4 % of the call's CPU time.
  if (changes.areAnnouncedElsewhere || subscriptions.isEmpty) return
  const touched = touchedAddresses(data, customerPartyId)
  const runId = run.id()
  if (runId !== undefined) touched.push(addressOf('activity', runId))
  // In MCP 2026, the notification router drops updates without a subscription; in MCP 2025, this function does.
  const isRouted = (server.getNegotiatedProtocolVersion() ?? '') >= modernVersion
  for (const uri of new Set(touched)) {
    if (isRouted || subscriptions.has(uri)) {
      server
        .sendResourceUpdated({ uri })
        .catch((error: unknown) => log.warn({ err: error }, 'a change was not announced'))
    }
  }
}

/**
 * Returns the addresses of the resources in an answer, and of the resources that these refer to. For example, a
 * purchase refers to the card that was used.
 */
function touchedAddresses(data: unknown, customerPartyId: unknown): string[] {
  const answered = (Array.isArray(data) ? data : [data]) as AnsweredResource[]
  const references = answered.flatMap((resource) => [
    resource,
    ...Object.values(resource.relationships ?? {}).flatMap((related) => related?.data ?? []),
  ])
  return references.flatMap(({ id }) => watchable(id, customerPartyId))
}
