import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Permission } from './permissions.ts'

export type Environment = 'sandbox' | 'production'

/** The segment of a key that names its environment: `sk_ntl_{segment}_…` (docs/service.md#credential-modes). */
export const environmentSegments = { sandbox: 'sandbox', production: 'prod' } as const satisfies Record<
  Environment,
  string
>

export const toolsets = ['default', 'payments', 'customers', 'agents', 'credentials'] as const

export type Toolset = (typeof toolsets)[number]

/** One thing that can be done with the API. Pure data: routes, documents, client methods and tools derive from it. */
export interface OperationDefinition {
  /** `verb_noun`, the MCP tool's name; in camel case the client's method and the OpenAPI operationId. */
  name: string
  title: string
  /** For a model: what it does, when to use it, what to do next. */
  description: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Relative to the base address, with `{parameter}` segments named in `params`. */
  path: string
  params?: z.ZodObject
  query?: z.ZodObject
  /** The body's `data.attributes`. Absent: the operation takes no body. */
  attributes?: z.ZodObject
  /** The attributes may be left out together with the body. */
  bodyOptional?: true
  /** Ids of related resources, `agentId` being the body's `data.relationships.agent`; most requests send none. */
  related?: z.ZodObject
  /** The resource answered, or of which a list is answered. */
  output: z.ZodObject
  /** One resource, a page of a list, or as many as the request made. */
  result: 'one' | 'page' | 'several'
  /** What the answer's `meta` tells besides the pagination of a page. */
  meta?: z.ZodObject
  environments: readonly Environment[]
  permission: Permission
  /** `required`: the Idempotency-Key header must be sent. `ignored`: it has no meaning. */
  idempotency: 'required' | 'ignored'
  /** `agents`: an agent must send X-Instance-ID. `optional`: nobody must. */
  instanceId: 'agents' | 'optional'
  /** A party API key may attribute the request to one of its agents by X-Agent-ID. */
  agentHeader?: true
  /** Whether it only reads, changes something, or changes something that cannot be taken back. */
  effect: 'read' | 'write' | 'destructive'
  /** It only reads, but what a host must not show unasked: no hint says so, and no read-only offer has it. */
  reveals?: true
  /** The sets of tools it is part of. */
  toolsets: readonly Toolset[]
  /** The codes it can answer besides those every operation can. */
  errors: readonly ErrorCode[]
  /** Neither the specification nor its published client has it. */
  extension?: true
}

/** Declares an operation. The identity function: it fixes the literal types and freezes the object. */
export function defineOperation<const D extends OperationDefinition>(definition: D): Readonly<D> {
  return Object.freeze(definition)
}

type Infer<S> = S extends z.ZodType ? z.output<S> : unknown
type InferSent<S> = S extends z.ZodType ? z.input<S> : unknown
type Field<D, K extends string> = D extends Record<K, infer S> ? S : undefined
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** What a handler gets: path and query parameters and attributes side by side, parsed. */
export type Input<D extends OperationDefinition> = Flat<
  Infer<Field<D, 'params'>> & Infer<Field<D, 'query'>> & Infer<Field<D, 'attributes'>> & Infer<Field<D, 'related'>>
>

/** What a caller passes: the same, before defaults are filled in. */
export type SentInput<D extends OperationDefinition> = Flat<
  InferSent<Field<D, 'params'>> &
    InferSent<Field<D, 'query'>> &
    InferSent<Field<D, 'attributes'>> &
    InferSent<Field<D, 'related'>>
>

export type Resource<D extends OperationDefinition> = z.output<D['output']>

export type Meta<D extends OperationDefinition> =
  Field<D, 'meta'> extends z.ZodType ? z.output<Field<D, 'meta'>> : undefined

export interface Pagination {
  hasMore: boolean
  nextCursor: string | null
}

/** The names of the input's parts; the parts never share a name (a test holds that). */
export const inputParts = ['params', 'query', 'attributes', 'related'] as const

/** The relationship that a field of `related` is: `agentId` is `agent`, which is its type too. */
export function relationshipOf(field: string): string {
  return field.replace(/Id$/, '')
}

/** `simulate_card_capture` as `simulateCardCapture`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
