import type { Dependencies } from '../dependencies.ts'
import { watchable } from './kinds.ts'
import { isReadable } from './resources.ts'

/**
 * Notifies the host, from the first call on, of changes by anyone to the resources that it watches and can read.
 * Changes by its own calls are also announced at once (`announceChanges`).
 */
export function followChanges(dependencies: Dependencies): void {
  const { changes, subscriptions, log } = dependencies
  if (subscriptions.isFollowing) return
  subscriptions.isFollowing = true
  const untold = (error: unknown) => log.warn({ err: error }, 'a change was not announced')
  let telling: Promise<void> = Promise.resolve()
  const heard = (resourceIds: readonly string[]) => {
    telling = telling.then(() => tell(dependencies, resourceIds)).catch(untold)
  }
  changes.follow(heard).catch((error: unknown) => {
    subscriptions.isFollowing = false
    untold(error)
  })
}

async function tell(dependencies: Dependencies, resourceIds: readonly string[]): Promise<void> {
  for (const uri of new Set(resourceIds.flatMap((id) => watchable(id)))) {
    const isTold = dependencies.subscriptions.has(uri) && (await isReadable(dependencies, uri))
    if (isTold) await dependencies.server.sendResourceUpdated({ uri })
  }
}
