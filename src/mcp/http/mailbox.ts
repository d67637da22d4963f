import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { equalSecrets, hmac, newId, newSecret, type System, sha256 } from '../../core/system.ts'
import type { Limits } from './limits.ts'

export interface MailboxDependencies {
  idHash: string
  store: SessionStore
  system: System
  limits: Pick<Limits, 'pollMs' | 'mailPerSession'>
  /** The secret that signs the ids of requests to hosts, so that forged answers are recognized. */
  sealKey: string
  receive: (message: JSONRPCMessage) => void
  log: Log
}

/** The maximum length of a message in characters. A longer message is dropped. Real answers from people are shorter. */
const mailCharacters = 64 * 1024

/**
 * The channel between the processes that serve one session. It forwards messages from the host that reached the wrong
 * process: an answer to another process's question, or the cancellation of another process's call. Most sessions are
 * idle, so an unused mailbox must take little memory.
 */
export class Mailbox {
  readonly #dependencies: MailboxDependencies
  readonly #tag: string
  /**
   * The running calls and the unanswered requests to the host, oldest first. While this list is empty, mail is not
   * read.
   */
  #waiting: readonly { sinceMs: number }[] = []
  #seen: Set<string> | undefined
  #stop: AbortController | undefined

  constructor(dependencies: MailboxDependencies) {
    this.#dependencies = dependencies
    this.#tag = newSecret(dependencies.system, 6)
  }

  /**
   * Returns the id that the host sees for a request from this process. The id is unique among all processes, and it
   * cannot be guessed.
   */
  idForHost(id: RequestId): string {
    return this.#withSeal(`${this.#tag}.${id}`)
  }

  /** Starts polling the mailbox. Polling stops when every function that `wait` returned has been called. */
  wait(): () => void {
    const { system } = this.#dependencies
    const wait = { sinceMs: system.elapsed() }
    this.#waiting = [...this.#waiting, wait]
    this.#poll()
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== wait)
    }
  }

  /** Stores an answer for the process that asked, or a cancellation for all processes. Drops any other message. */
  async post(message: JSONRPCMessage): Promise<void> {
    const { store, system, idHash, limits } = this.#dependencies
    const sentAtMs = system.now()
    const letter =
      'method' in message ? cancellation(message, () => newId('mml', system, sentAtMs)) : this.#answer(message)
    if (letter !== undefined) await store.deliver({ ...letter, idHash, sentAtMs }, limits.mailPerSession)
  }

  close(): void {
    this.#stop?.abort()
  }

  #withSeal(question: string): string {
    const { sealKey, idHash } = this.#dependencies
    return `${question}.${hmac(sealKey, `${idHash} ${question}`).slice(0, 32)}`
  }

  async #poll(): Promise<void> {
    if (this.#stop !== undefined) return
    const { log } = this.#dependencies
    const polling = new AbortController()
    this.#stop = polling
    try {
      while (this.#waiting.length > 0) {
        const isNotified = await this.#pause(polling.signal)
        await this.#readMail(isNotified)
      }
    } catch (error) {
      if (!polling.signal.aborted) log.warn({ err: error }, 'the mail of a session could not be read')
    } finally {
      this.#stop = undefined
    }
  }

  /**
   * Waits for one poll interval, or until another process reports mail if that is sooner. Returns whether mail was
   * reported.
   */
  async #pause(signal: AbortSignal): Promise<boolean> {
    const { system, limits, store, idHash } = this.#dependencies
    const notified = Promise.withResolvers<boolean>()
    const stopListening = store.onMail(idHash, () => notified.resolve(true))
    try {
      return await Promise.race([system.sleep(limits.pollMs, signal).then(() => false), notified.promise])
    } finally {
      stopListening()
    }
  }

  async #readMail(isNotified: boolean): Promise<void> {
    const { system, limits, store, idHash, receive } = this.#dependencies
    const [longest] = this.#waiting
    // Unless mail was reported, none is read until the oldest call has run for one poll interval. Most calls are
    // answered sooner, and no mail arrives for them.
    if (longest === undefined) return
    if (!isNotified && system.elapsed() - longest.sinceMs < limits.pollMs) return
    for (const mail of await store.takeMail(idHash, this.#tag)) {
      if (this.#seen?.has(mail.id)) continue
      this.#seen ??= new Set()
      if (mail.addressee === '') this.#seen.add(mail.id)
      receive(JSON.parse(mail.message) as JSONRPCMessage)
    }
  }

  /**
   * Turns the host's answer into mail for the process that asked the question. Returns undefined if the answer is too
   * long or does not have the id of a question. The mail's id is derived from the question's id, so that a second
   * answer is dropped.
   */
  #answer(message: JSONRPCMessage) {
    const { idHash } = this.#dependencies
    const id = 'id' in message ? String(message.id) : ''
    const question = id.slice(0, id.lastIndexOf('.'))
    const text = JSON.stringify(message)
    if (text.length > mailCharacters || !equalSecrets(this.#withSeal(question), id)) return undefined
    const mailId = `mml_${sha256(`${idHash} ${id}`).slice(0, 32)}`
    return { id: mailId, addressee: question.split('.')[0] ?? '', message: text }
  }
}

/** Creates mail that cancels a request. Copies only the request's id from the host's message. */
function cancellation({ params }: { params?: Record<string, unknown> | undefined }, newMailId: () => string) {
  const requestId = params?.requestId
  if (!isRequestId(requestId)) return undefined
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
  return { id: newMailId(), addressee: '', message: JSON.stringify(message) }
}

/** The maximum length of a request's id. The id stays in memory while the request runs. Real hosts send shorter ids. */
const longestRequestId = 256

export function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'number' || (typeof id === 'string' && id.length <= longestRequestId)
}
