import type { Fault } from './faults.ts'

/** An API request before it is encoded as HTTP. The receiver need not parse the operation and ids from the path. */
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
  /** The fault that the caller's process chose for this request. It is never sent over HTTP. */
  fault?: Fault | undefined
}

export interface ApiAnswer {
  status: number
  headers: Pick<Headers, 'get'>
  body: string
  /**
   * Whether the wallet's balance covers the issued card's maximum. Only a service in this process reports it; it is
   * never sent over HTTP.
   */
  isCovered?: boolean | undefined
}

/**
 * Sends a request to the API, over HTTP or within the process, and resolves with its answer. Rejects if there is no
 * answer.
 */
export type ApiTransport = (request: ApiRequest, signal: AbortSignal) => Promise<ApiAnswer>
