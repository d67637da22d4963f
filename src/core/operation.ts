import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Permission } from './permissions.ts'

export type Environment = 'sandbox' | 'production'

/** The segment of a key that states the key's environment: `sk_ntl_{segment}_…` (docs/service.md#credential-modes). */
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

/** One operation of the API, as pure data. Routes, documents, client methods and tools are derived from it. */
export interface OperationDefinition {
  /**
   * The name of the MCP tool, `verb_noun`. In camel case, it is also the name of the client's method and the OpenAPI
   * operationId.
   */
  name: string
  title: string
  /** Tells a model what the operation does, when to use it and what to do next. */
  description: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path after the base URL. Each `{parameter}` in it is the name of a field of `params`. */
  path: string
  params?: z.ZodObject
  query?: z.ZodObject
  /**
   * The body's `data.attributes`; undefined if the operation takes no body. Fields that belong in another part of the
   * body are marked (src/core/body-places.ts).
   */
  attributes?: z.ZodObject
  /** Whether the whole body may be left out. */
  bodyOptional?: true
  /** Arguments that only programs need. The MCP tool accepts them, but does not list them for the model. */
  unlisted?: readonly string[]
  /** The resource in the answer; for a list, the resource of its items. */
  output: z.ZodObject
  /** The HTTP status of a success: 201 for a created resource; 200 if undefined. */
  answers?: 201
  /**
   * The shape of the answer: one resource, one resource or null, a page of a list, or several resources without pages.
   */
  result: 'one' | 'oneOrNull' | 'page' | 'several'
  /** The fields of the answer's `meta`, except for the pagination of a page. */
  meta?: z.ZodObject
  environments: readonly Environment[]
  permission: Permission
  /** Whether the Idempotency-Key header must be sent (`required`) or has no meaning (`ignored`). */
  idempotency: 'required' | 'ignored'
  /**
   * Whether an accidental repeat of a call would do harm, because each request moves money or creates something. The
   * MCP server then detects repeats (PAYMENTS_REPEAT_WINDOW).
   */
  adds?: true
  /** Whether X-Instance-ID is required from agents (`agents`) or optional for every caller (`optional`). */
  instanceId: 'agents' | 'optional'
  /**
   * Whether a caller with a party's API key may attribute the request to one of the party's agents, in the header
   * X-Agent-ID.
   */
  agentHeader?: true
  /** Whether the operation reads or replaces the sandbox's whole world. No other change may run at the same time. */
  alone?: true
  /** Whether the operation only reads, changes something, or changes something irreversibly. */
  effect: 'read' | 'write' | 'destructive'
  /**
   * True for a POST that sets a state, so that repeating it changes nothing or is refused. PUT, PATCH and DELETE always
   * set a state.
   */
  setsState?: true
  /** The toolsets that include the operation. */
  toolsets: readonly Toolset[]
  /**
   * The error codes that the operation can answer with, besides the codes that src/core/declared-errors.ts adds.
   * `invalid_value` is listed here only if a request without attributes may be refused with 422, because of a value in
   * the stored record.
   */
  errors: readonly ErrorCode[]
  /** Whether the operation is an extension: neither the service's specification nor the published client has it. */
  extension: boolean
  /**
   * The values in the example answer that are special to this operation. All other values come from
   * src/openapi/examples.ts.
   */
  example?: { attributes?: object; relationships?: object }
}

/** Freezes the definition of an operation and returns it, with the literal types of its members. */
export function defineOperation<const D extends OperationDefinition>(definition: D): Readonly<D> {
  return Object.freeze(definition)
}

/** Returns the HTTP status of a success. */
export function successStatus({ answers }: Pick<OperationDefinition, 'answers'>): 200 | 201 {
  return answers ?? 200
}

/** Returns whether two equal calls have two effects, such as two payments. */
export function hasEffectPerCall({
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

/** The parsed input of a handler: path parameters, query parameters and attributes in one object. */
export type Input<D extends OperationDefinition> = Flat<
  Infer<Field<D, 'params'>> & Infer<Field<D, 'query'>> & Infer<Field<D, 'attributes'>>
>

/** The input that a caller passes, before defaults are filled in. */
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

/** The parts of an operation's input. A test checks that no two parts share a field name. */
export const inputParts = ['params', 'query', 'attributes'] as const

/** The only read operation for which a host must ask the person first, because the answer contains a card's number. */
const cardNumberRead = 'get_agent_card_details'

/** Returns whether a host may call the operation without asking the person first. */
export function onlyReads({ effect, name }: Pick<OperationDefinition, 'effect' | 'name'>): boolean {
  return effect === 'read' && name !== cardNumberRead
}

/** Returns whether the operation answers with a list of resources. */
export function answersList({ result }: Pick<OperationDefinition, 'result'>): boolean {
  return result === 'page' || result === 'several'
}

/** Turns `simulate_card_capture` into `simulateCardCapture`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
