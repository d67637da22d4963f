import type { Fault } from './faults.ts'

/**
 * An API request before it is encoded as HTTP. It also contains the operation and the ids, so that a service in this
 * process need not parse them from the path.
 */
export interface ApiRequest {
  /** The operation's name. */
  operation: string
  method: string
  /** The path relative to the base address, percent-encoded and with the query. */
  path: string
  /** The ids in the path, not encoded. */
  params: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  body: string | undefined
  /**
   * The fault to inject into this request. It reaches only a service in this process, because it is never sent over
   * HTTP.
   */
  fault?: Fault | undefined
}

export interface ApiAnswer {
  status: number
  headers: Pick<Headers, 'get'>
  body: string
  /**
   * Whether the wallet's balance covers the maximum of the card that the request issued. Only a service in this process
   * reports this; it is never sent over HTTP.
   */
  isCovered?: boolean | undefined
}

/**
 * Sends a request to the API, over HTTP or within the process, and resolves with the answer. Rejects if no answer
 * arrives.
 */
export type ApiTransport = (request: ApiRequest, signal: AbortSignal) => Promise<ApiAnswer>
