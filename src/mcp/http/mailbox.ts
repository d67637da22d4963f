import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { newId, newSecret, type System } from '../../system.ts'
import type { SessionStore } from './session-store.ts'

/**
 * How the processes that serve one session hand each other what reached the wrong one: a host's answer to a request
 * that another process sent, and the cancellation of a call that another process runs.
 */
export interface Mailbox {
  /** Tells this process from the others in the ids of the requests it sends to the host. */
  readonly tag: string
  /** Looks into the mailbox from now on, until the function it gives back is called. */
  wait(): () => void
  /** Leaves a message for that process, or for every other one. */
  post(message: JSONRPCMessage, addressee: string): Promise<void>
  close(): void
}

export interface MailboxOptions {
  idHash: string
  store: SessionStore
  system: System
  pollMs: number
  receive: (message: JSONRPCMessage) => void
  log: Log
}

/** More than a person's answer or a cancellation takes. */
const mailCharacters = 64 * 1024

export function createMailbox({ idHash, store, system, pollMs, receive, log }: MailboxOptions): Mailbox {
  const tag = newSecret(system, 6)
  // Sessions are many and mostly idle: what is only needed while somebody waits is there no longer.
  // Since when each waits, the one that waits the longest first.
  let waiting: { sinceMs: number }[] = []
  let seen: Set<string> | undefined
  let stop: AbortController | undefined
  const look = async () => {
    const [longest] = waiting
    // Most calls are answered sooner than anything could be in the mail for them.
    if (longest === undefined || system.elapsed() - longest.sinceMs < pollMs) return
    for (const mail of await store.takeMail(idHash, tag)) {
      if (seen?.has(mail.id)) continue
      seen ??= new Set()
      if (mail.addressee === '') seen.add(mail.id)
      receive(JSON.parse(mail.message) as JSONRPCMessage)
    }
  }
  const poll = async () => {
    if (stop !== undefined) return
    const polling = new AbortController()
    stop = polling
    try {
      while (waiting.length > 0) {
        await system.sleep(pollMs, polling.signal)
        await look()
      }
    } catch (error) {
      if (!polling.signal.aborted) log.warn({ err: error }, 'the mail of a session was not read')
    } finally {
      stop = undefined
    }
  }
  return {
    tag,
    wait: () => {
      if (!store.shared) return () => {}
      const who = { sinceMs: system.elapsed() }
      waiting = [...waiting, who]
      poll()
      return () => {
        waiting = waiting.filter((other) => other !== who)
      }
    },
    post: async (message, addressee) => {
      if (!store.shared) return
      const sentAtMs = system.now()
      const mail = { id: newId('mml', system, sentAtMs), idHash, addressee, message: JSON.stringify(message), sentAtMs }
      const isTag = addressee === '' || addressee.length === tag.length
      if (isTag && mail.message.length <= mailCharacters) await store.deliver(mail)
      else
        log.warn({ addressee: addressee.length, characters: mail.message.length }, 'a message for nobody was dropped')
    },
    close: () => stop?.abort(),
  }
}
