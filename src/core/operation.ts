import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Permission } from './permissions.ts'

export type Environment = 'sandbox' | 'production'

/** The segment of a key that names its environment: `sk_ntl_{segment}_…` (docs/service.md#credential-modes). */
export const environmentSegments = { sandbox: 'sandbox', production: 'prod' } as const satisfies Record<
  Environment,
  string
>

export const toolsets = [
  'default',
  'payments',
  'accounts',
  'customers',
  'agents',
  'credentials',
  'events',
  'sandbox',
  'shops',
] as const

export type Toolset = (typeof toolsets)[number]

/** One thing that can be done with the API. Pure data: routes, documents, client methods and tools derive from it. */
export interface OperationDefinition {
  /** `verb_noun`, the MCP tool's name; in camel case the client's method and the OpenAPI operationId. */
  name: string
  title: string
  /** Tells a model what the operation does, when to use it and what to do next. */
  description: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path below the base address, with `{parameter}` segments named in `params`. */
  path: string
  params?: z.ZodObject
  query?: z.ZodObject
  /**
   * The body's `data.attributes`; undefined: the operation takes no body. Fields that stand elsewhere in it are marked
   * (src/core/body-places.ts).
   */
  attributes?: z.ZodObject
  /** Whether the attributes may be left out together with the body. */
  bodyOptional?: true
  /** Arguments that programs send and no model need read about with each request: the tool takes them all the same. */
  unlisted?: readonly string[]
  /** The resource that is answered, or that a list is answered of. */
  output: z.ZodObject
  /** The status of a success: 200 unless the service answers 201 to what makes something. */
  answers?: 201
  /** One resource, one or null where there may be none, a page of a list, or as many resources as the request made. */
  result: 'one' | 'oneOrNull' | 'page' | 'several'
  /** What the answer's `meta` tells besides the pagination of a page. */
  meta?: z.ZodObject
  environments: readonly Environment[]
  permission: Permission
  /** `required`: the Idempotency-Key header must be sent. `ignored`: it has no meaning. */
  idempotency: 'required' | 'ignored'
  /** Each request moves money or makes a new thing, so two equal ones do it twice; the others set a state. */
  adds?: true
  /** `agents`: an agent must send X-Instance-ID. `optional`: nobody must. */
  instanceId: 'agents' | 'optional'
  /** Whether a party API key may attribute the request to one of its agents by X-Agent-ID. */
  agentHeader?: true
  /** Sees or replaces the whole world: no other change is made meanwhile. */
  alone?: true
  /** Whether it only reads, changes something, or changes something that cannot be taken back. */
  effect: 'read' | 'write' | 'destructive'
  /** True for a POST that brings something into a state: the next finds it there, or is refused. PATCH and DELETE do so anyway. */
  setsState?: true
  /** The sets of tools that it is part of. */
  toolsets: readonly Toolset[]
  /**
   * The error codes that it can answer besides those that every operation can. `invalid_value` among them stands for 422,
   * as a request without a body is answered that is refused over a value of the record that it decides on.
   */
  errors: readonly ErrorCode[]
  /** Whether it is an extension: neither the service's specification nor its published client has the operation. */
  extension: boolean
  /** The values by which the example of its answer tells what it does; the others are those of src/openapi/examples.ts. */
  example?: { attributes?: object; relationships?: object }
}

/** Declares an operation: fixes the literal types and freezes the object. */
export function defineOperation<const D extends OperationDefinition>(definition: D): Readonly<D> {
  return Object.freeze(definition)
}

/** The status with which the service answers that it was done. */
export function successStatus({ answers }: Pick<OperationDefinition, 'answers'>): 200 | 201 {
  return answers ?? 200
}

/** Whether each call moves money or makes something anew, so that two equal ones are two. */
export function happensAgain({
  effect,
  method,
  setsState,
}: Pick<OperationDefinition, 'effect' | 'method' | 'setsState'>): boolean {
  return effect !== 'read' && method === 'POST' && setsState !== true
}

type Infer<S> = S extends z.ZodType ? z.output<S> : unknown
type InferSent<S> = S extends z.ZodType ? z.input<S> : unknown
type Field<D, K extends string> = D extends Record<K, infer S> ? S : undefined
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** The input as a handler gets it: path and query parameters and attributes side by side, parsed. */
export type Input<D extends OperationDefinition> = Flat<
  Infer<Field<D, 'params'>> & Infer<Field<D, 'query'>> & Infer<Field<D, 'attributes'>>
>

/** The input as a caller passes it, before defaults are filled in. */
export type SentInput<D extends OperationDefinition> = Flat<
  InferSent<Field<D, 'params'>> & InferSent<Field<D, 'query'>> & InferSent<Field<D, 'attributes'>>
>

export type Resource<D extends OperationDefinition> = z.output<D['output']>

export type Meta<D extends OperationDefinition> =
  Field<D, 'meta'> extends z.ZodType ? z.output<Field<D, 'meta'>> : undefined

export interface Pagination {
  hasMore: boolean
  nextCursor: string | null
}

/** The names of the input's parts; the parts never share a name (a test holds that). */
export const inputParts = ['params', 'query', 'attributes'] as const

/** The read that a host must not make unasked, for it shows a card's number. */
const revealing = 'get_agent_card_details'

/** Tells whether a host may call it unasked. */
export function onlyReads({ effect, name }: Pick<OperationDefinition, 'effect' | 'name'>): boolean {
  return effect === 'read' && name !== revealing
}

/** Tells whether it answers a list of resources. */
export function answersList({ result }: Pick<OperationDefinition, 'result'>): boolean {
  return result === 'page' || result === 'several'
}

/** `simulate_card_capture` as `simulateCardCapture`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
