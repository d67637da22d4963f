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
 * Admits requests whose bodies are within the limits. Refuses all other requests as soon as their headers are parsed.
 * Hundreds of those requests may arrive at the same time, so their bodies are not read, and no memory is allocated for
 * the bodies.
 */
export class BodyAdmission {
  readonly #dependencies: Dependencies
  readonly #arriving = new WeakMap<IncomingMessage, ArrivingBody>()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Admits or refuses the request. Returns whether it was admitted; if not, the refusal was already sent. */
  admit(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    const { bodies, addressOf } = this.#dependencies
    const announced = announcedLength(incoming)
    if (announced === 0) return true
    const { authorization } = incoming.headers
    const credential = authorization && sha256(authorization)
    try {
      // This option keeps the connection open for the answer, even if the body is not read completely.
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

  /** Returns the body of an admitted request; undefined if the request has no body. */
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
