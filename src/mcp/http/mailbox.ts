import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { equalSecrets, hmac, newId, newSecret, type System, sha256 } from '../../core/system.ts'
import type { Limits } from './limits.ts'
import type { SessionStore } from './session-store.ts'

/**
 * How the processes that serve one session hand each other what reached the wrong one: a host's answer to a request
 * that another process sent, and the cancellation of a call that another process runs.
 */
export interface Mailbox {
  /** The id that the host sees of a request of this process's, which no other process uses and nobody can make up. */
  outwardId(id: RequestId): string
  /** Looks into the mailbox from now on, until the function it gives back is called. */
  wait(): () => void
  /** Leaves an answer for the process that asked for it, or a cancellation for every other one; drops anything else. */
  post(message: JSONRPCMessage): Promise<void>
  close(): void
}

export interface MailboxOptions {
  idHash: string
  store: SessionStore
  system: System
  limits: Pick<Limits, 'pollMs' | 'mailPerSession'>
  /** What processes know their questions by, the same in all of them. */
  sealKey: string
  receive: (message: JSONRPCMessage) => void
  log: Log
}

/** More than a person's answer takes. */
const mailCharacters = 64 * 1024

export function createMailbox(options: MailboxOptions): Mailbox {
  const { idHash, store, system, receive, log } = options
  const { pollMs, mailPerSession } = options.limits
  const tag = newSecret(system, 6)
  const sealed = (question: string) => `${question}.${hmac(options.sealKey, `${idHash} ${question}`).slice(0, 32)}`
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
  /** An answer to what was asked, once: its id is the question's. */
  const answer = (message: JSONRPCMessage) => {
    const id = 'id' in message ? String(message.id) : ''
    const question = id.slice(0, id.lastIndexOf('.'))
    const text = JSON.stringify(message)
    if (text.length > mailCharacters || !equalSecrets(sealed(question), id)) return undefined
    return {
      id: `mml_${sha256(`${idHash} ${id}`).slice(0, 32)}`,
      addressee: question.split('.')[0] ?? '',
      message: text,
    }
  }
  return {
    outwardId: (id) => sealed(`${tag}.${id}`),
    wait: () => {
      if (!store.shared) return () => {}
      const who = { sinceMs: system.elapsed() }
      waiting = [...waiting, who]
      poll()
      return () => {
        waiting = waiting.filter((other) => other !== who)
      }
    },
    post: async (message) => {
      if (!store.shared) return
      const sentAtMs = system.now()
      const letter = 'method' in message ? cancellation(message, () => newId('mml', system, sentAtMs)) : answer(message)
      if (letter !== undefined) await store.deliver({ ...letter, idHash, sentAtMs }, mailPerSession)
    },
    close: () => stop?.abort(),
  }
}

/** Which request is cancelled, and nothing else that the host may have written there. */
function cancellation({ params }: { params?: Record<string, unknown> | undefined }, newMailId: () => string) {
  const requestId = params?.requestId
  if (!isRequestId(requestId)) return undefined
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
  return { id: newMailId(), addressee: '', message: JSON.stringify(message) }
}

/** Longer than any that a host makes up: what runs is kept by its id. */
const longestRequestId = 256

export function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'number' || (typeof id === 'string' && id.length <= longestRequestId)
}
