import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '../../config/log.ts'
import type { ArrivingBody, BodyBudget } from '../../core/body-budget.ts'
import { Failure } from '../../core/errors.ts'
import { sha256 } from '../../core/system.ts'
import type { Connection } from './client-address.ts'
import { announcedLength, answerEarly } from './early-responses.ts'
import { logLine } from './log-refusal.ts'
import { refusal } from './reply.ts'

interface Dependencies {
  bodies: BodyBudget
  addressOf: (connection: Connection) => string
  /** Sets the headers that all answers have in common. Returns the request's support id. */
  prepare: (outgoing: ServerResponse) => string
  log: Logger
}

/**
 * Admits requests whose bodies are within the limits. Refuses all others as soon as their headers are parsed, without
 * reading their bodies or allocating memory for them, because hundreds may arrive at once.
 */
export class BodyAdmission {
  readonly #dependencies: Dependencies
  readonly #arriving = new WeakMap<IncomingMessage, ArrivingBody>()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Returns whether the request was admitted. Otherwise it was already refused. */
  admit(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    const { bodies, addressOf } = this.#dependencies
    const announced = announcedLength(incoming)
    if (announced === 0) return true
    const { authorization } = incoming.headers
    const credential = authorization && sha256(authorization)
    try {
      // This option keeps the connection open for the answer, even if the body is not read to its end.
      const parts = () => incoming.iterator({ destroyOnReturn: false })
      const body = bodies.arrive({ address: addressOf(incoming), announced, credential, parts })
      this.#arriving.set(incoming, body)
      outgoing.once('close', () => body.end())
      return true
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.#refuse(incoming, outgoing, error)
      return false
    }
  }

  /** Returns the body of an admitted request; undefined if the request has none. */
  bodyOf(incoming: IncomingMessage): ArrivingBody | undefined {
    return this.#arriving.get(incoming)
  }

  #refuse(incoming: IncomingMessage, outgoing: ServerResponse, failure: Failure): void {
    const { prepare, log } = this.#dependencies
    const supportId = prepare(outgoing)
    const { status, body, headers } = refusal(failure, supportId)
    answerEarly(incoming, outgoing)
    const length = { 'Content-Length': Buffer.byteLength(body) }
    outgoing.writeHead(status, { 'Content-Type': 'application/json', ...length, ...headers }).end(body)
    const { method = '', url = '' } = incoming
    logLine(log, { supportId, status, code: failure.code, method, path: url.split('?')[0] ?? '', ms: 0 })
  }
}
