import type { ServerEvent } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import type { Session } from './sessions.ts'

/** Tells a 2025-era host what changed, where its server said that it would. */
export function notifySession(
  { server, streams }: Session,
  event: ServerEvent,
  subscribed: readonly string[],
  log: Log,
): void {
  const { tools, prompts, resources } = server.getCapabilities()
  const failed = (error: unknown) => log.warn({ err: error }, 'a change was not told')
  // Nobody ever listened: there is nothing that could be resumed either.
  if (streams.listened(false) === undefined) return
  if (event.kind === 'tools_list_changed' && tools?.listChanged) server.sendToolListChanged().catch(failed)
  if (event.kind === 'prompts_list_changed' && prompts?.listChanged) server.sendPromptListChanged().catch(failed)
  if (event.kind === 'resources_list_changed' && resources?.listChanged) server.sendResourceListChanged().catch(failed)
  if (event.kind === 'resource_updated' && resources?.subscribe && subscribed.includes(event.uri)) {
    server.sendResourceUpdated({ uri: event.uri }).catch(failed)
  }
}
