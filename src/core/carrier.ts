import type { Fault } from './faults.ts'

/** A request of the API's before it is one of HTTP: what a route would find out of it again is still told apart. */
export interface ApiRequest {
  /** The operation's name. */
  operation: string
  method: string
  /** Relative to the base address, percent-encoded, with the query. */
  path: string
  /** The ids in the path, as they are. */
  params: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  body: string | undefined
  /** The fault that it was planned to meet where it was called; nothing sends it over HTTP. */
  fault?: Fault | undefined
}

export interface ApiAnswer {
  status: number
  headers: Pick<Headers, 'get'>
  body: string
}

/** Brings a request to the API and its answer back, over HTTP or within the process; rejects when none came. */
export type Carrier = (request: ApiRequest, signal: AbortSignal) => Promise<ApiAnswer>
