import type { Dependencies } from '../dependencies.ts'
import { watchable } from './kinds.ts'
import { isReadable } from './resources.ts'

/**
 * Starts to notify the host of changes, by anyone, to the resources that it watches and can read. Does nothing if the
 * connection already follows changes. `announceChanges` also announces the changes by the host's own calls, without a
 * delay.
 */
export function followChanges(dependencies: Dependencies): void {
  const { changes, subscriptions, log } = dependencies
  if (subscriptions.isFollowing) return
  subscriptions.isFollowing = true
  const warn = (error: unknown) => log.warn({ err: error }, 'a change was not announced')
  let notifying: Promise<void> = Promise.resolve()
  const onChange = (resourceIds: readonly string[]) => {
    notifying = notifying.then(() => notify(dependencies, resourceIds)).catch(warn)
  }
  changes.follow(onChange).catch((error: unknown) => {
    subscriptions.isFollowing = false
    warn(error)
  })
}

async function notify(dependencies: Dependencies, resourceIds: readonly string[]): Promise<void> {
  for (const uri of new Set(resourceIds.flatMap((id) => watchable(id)))) {
    const isNotified = dependencies.subscriptions.has(uri) && (await isReadable(dependencies, uri))
    if (isNotified) await dependencies.server.sendResourceUpdated({ uri })
  }
}
