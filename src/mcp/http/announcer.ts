import type { ServerEvent } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { ChangeWatcher, type Following } from '../../core/change-watcher.ts'
import type { SessionStore } from '../../core/session-store.ts'
import type { System } from '../../core/system.ts'
import { watchable } from '../resources/kinds.ts'
import { addressesOf, type Change, type Changes, type RecordChange } from './changed-addresses.ts'
import type { Principal } from './host-context.ts'
import type { Limits } from './limits.ts'
import type { ModernEra } from './modern.ts'
import type { Session, Sessions } from './sessions.ts'

interface AnnouncerDependencies {
  sessions: Sessions
  modern: ModernEra
  store: SessionStore
  changes: Changes
  authorize(credential: string): Promise<Principal | undefined>
  system: System
  limits: Limits
  log: Log
}

/** Notifies hosts of MCP 2025 and MCP 2026 of changes, no matter which process made the changes. */
export class Announcer {
  readonly #dependencies: AnnouncerDependencies
  /** Watches the activity log for changes made with credentials, and for changes to credentials. */
  readonly #watch: ChangeWatcher<Change>
  /** Follows the outbox, which contains all changes to records, no matter who made them. */
  readonly #following: Following
  /** The queue of announcements, which are sent in sequence. */
  #announcing: Promise<void> = Promise.resolve()

  constructor(dependencies: AnnouncerDependencies) {
    this.#dependencies = dependencies
    const { changes } = dependencies
    const watched = () => this.#watchedParties()
    const onChanges = (found: readonly Change[]) => this.#announceChanges(found)
    this.#watch = new ChangeWatcher({ ...dependencies, feed: changes.activity, watched, onChanges })
    this.#following = changes.follow({ watched, onChanges: (found) => this.#announceRecordChanges(found, changes) })
  }

  /** Starts to watch the party. Await this before one of the party's hosts gets a stream to listen on. */
  async begin(partyId: string): Promise<void> {
    await Promise.all([this.#watch.begin(partyId), this.#following.begin(partyId)])
  }

  /** Schedules a check for changes soon, because something may have changed. */
  wake(): void {
    this.#watch.wake()
  }

  /** Notifies the hosts of one principal, or all hosts, of a change. */
  notify(event: ServerEvent, principalId?: string): void {
    this.#announce([event], principalId)
  }

  /**
   * Ends the streams whose credentials are no longer valid. With `principals`, checks only their streams. Calling
   * `authorize` also announces changed scopes.
   */
  recheck(principals?: ReadonlySet<string>): void {
    const { sessions, modern, authorize, log } = this.#dependencies
    const isValid = async (credential: string) => (await authorize(credential)) !== undefined
    Promise.all([sessions.recheck(isValid, principals), modern.recheck(isValid, principals)]).catch((error: unknown) =>
      log.warn({ err: error }, 'the credentials of streams were not checked'),
    )
  }

  async close(): Promise<void> {
    this.#following.end()
    await this.#watch.close()
    await this.#announcing
  }

  #watchedParties(): Set<string> {
    const { sessions, modern } = this.#dependencies
    return new Set([...listeningOf(sessions), ...modern.listening()].map(({ partyId }) => partyId))
  }

  /**
   * Notifies each subscriber that can still read the record. If this check fails for one subscriber, still notifies the
   * others.
   */
  #announceRecordChanges(recordChanges: readonly RecordChange[], { mayRead }: Changes): void {
    const { sessions, modern, store, log } = this.#dependencies
    const byParty = Map.groupBy(recordChanges, ({ partyId }) => partyId)
    const listening = listeningOf(sessions).filter(({ partyId }) => byParty.has(partyId))
    const logFailure = (error: unknown) => {
      log.warn({ err: error }, 'a change was not announced')
      return false
    }
    const announceEach = async () => {
      const subscriptions = await store.subscriptions(listening.map(({ idHash }) => idHash))
      const isSubscribed = (idHash: string, uri: string) => subscriptions.get(idHash)?.includes(uri) === true
      for (const [partyId, partyChanges] of byParty) {
        for (const uri of new Set(partyChanges.flatMap(({ resourceId }) => watchable(resourceId)))) {
          const event = { kind: 'resource_updated', uri } as const
          const subscribers = [
            ...modern.subscribed(uri).filter(({ principal }) => principal.partyId === partyId),
            ...listening
              .filter((session) => session.partyId === partyId && isSubscribed(session.idHash, uri))
              .map((session) => ({
                principal: session.latest.principal,
                notify: () => notifySession(session, event, [uri], log),
              })),
          ]
          const readable = new Map<string, Promise<boolean>>()
          for (const { principal, notify } of subscribers) {
            const readableNow = readable.get(principal.credential) ?? mayRead(principal, uri).catch(logFailure)
            readable.set(principal.credential, readableNow)
            if (await readableNow) notify(event)
          }
        }
      }
    }
    void this.#inSequence(announceEach)
  }

  async #announceChanges(changes: readonly Change[]): Promise<void> {
    const changed = new Map<string, Set<string>>()
    const changedIds = new Set<string>()
    for (const change of changes) {
      const addresses = changed.get(change.principalId) ?? new Set()
      changed.set(change.principalId, addresses)
      for (const address of addressesOf(change)) addresses.add(address)
      for (const id of change.resourceIds) changedIds.add(id)
    }
    for (const [principalId, addresses] of changed) {
      this.#announce(
        [...addresses].map((uri) => ({ kind: 'resource_updated', uri })),
        principalId,
      )
    }
    // If the changed records are credentials, these may have become invalid or have other scopes now.
    this.recheck(changedIds)
    await this.#announcing
  }

  #announce(events: readonly ServerEvent[], principalId: string | undefined): void {
    const { sessions, modern, store, log } = this.#dependencies
    for (const event of events) modern.notify(event, principalId)
    const listening = listeningOf(sessions).filter(
      (session) => principalId === undefined || session.principalId === principalId,
    )
    if (listening.length === 0) return
    const announceEach = async () => {
      const hasResourceUpdates = events.some(({ kind }) => kind === 'resource_updated')
      const subscribed = hasResourceUpdates
        ? await store.subscriptions(listening.map(({ idHash }) => idHash))
        : new Map<string, readonly string[]>()
      for (const event of events) {
        for (const session of listening) notifySession(session, event, subscribed.get(session.idHash) ?? [], log)
      }
    }
    void this.#inSequence(announceEach)
  }

  #inSequence(announceEach: () => Promise<void>): Promise<void> {
    const { log } = this.#dependencies
    this.#announcing = this.#announcing
      .then(announceEach)
      .catch((error: unknown) => log.warn({ err: error }, 'a change was not announced'))
    return this.#announcing
  }
}

/** Returns the sessions whose host is listening, or was listening and may resume its stream. */
function listeningOf(sessions: Sessions): Session[] {
  return [...sessions.local()].filter(({ streams }) => streams.generalStream(false) !== undefined)
}

/**
 * Notifies an MCP 2025 host of a change, if the session's server declared this kind of notification. If a resource was
 * changed, the host must also have subscribed to the resource.
 */
function notifySession({ server }: Session, event: ServerEvent, subscribed: readonly string[], log: Log): void {
  const { tools, prompts, resources } = server.getCapabilities()
  const logFailure = (error: unknown) => log.warn({ err: error }, 'a change was not announced')
  if (event.kind === 'tools_list_changed' && tools?.listChanged) server.sendToolListChanged().catch(logFailure)
  if (event.kind === 'prompts_list_changed' && prompts?.listChanged) server.sendPromptListChanged().catch(logFailure)
  if (event.kind === 'resources_list_changed' && resources?.listChanged)
    server.sendResourceListChanged().catch(logFailure)
  if (event.kind === 'resource_updated' && resources?.subscribe && subscribed.includes(event.uri)) {
    server.sendResourceUpdated({ uri: event.uri }).catch(logFailure)
  }
}
