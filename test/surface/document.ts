import type { Environment, OperationDefinition } from '../../src/core/operation.ts'
import { openApiDocument } from '../../src/openapi/document.ts'
import type { Schema } from './fields.ts'

export const serverUrl = 'http://127.0.0.1:4010'

/** The parts of the OpenAPI document that tests read. */
export interface Document {
  paths: Record<string, Record<string, Described>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    parameters: Record<string, Parameter>
    headers: Record<string, { description: string; schema: Schema }>
    securitySchemes: object
  }
}

/** An operation of the document. */
export interface Described {
  operationId: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response>
  'x-extension'?: true
}

export interface Parameter {
  name: string
  in: string
  required: boolean
  description: string | undefined
  schema: Schema
}

export interface Media {
  schema: Schema
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

export interface Response {
  headers: Record<string, unknown>
  content: Record<string, Media>
}

export function documentOf(environment: Environment): Document {
  return openApiDocument({ environment, serverUrl }) as unknown as Document
}

export function operationIn(document: Document, { method, path }: OperationDefinition): Described {
  const described = document.paths[path]?.[method.toLowerCase()]
  if (described === undefined) throw new Error(`Bug: the document has no ${method} ${path}`)
  return described
}

/** Returns the value itself, or the target of its `$ref`. */
export function follow<T extends object>(value: T, document: Document): T {
  const { $ref } = value as { $ref?: string }
  if ($ref === undefined) return value
  const steps = $ref.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as T
}

export function contentOf({ content }: Pick<Response, 'content'>): Media {
  const media = content['application/json']
  if (media === undefined) throw new Error('Bug: a request or response without JSON')
  return media
}

/** Returns the schema of a request's `data`. */
export function bodyOf({ requestBody }: Described): Schema | undefined {
  return requestBody && contentOf(requestBody).schema.properties?.data
}

const isSuccess = (status: string) => status.startsWith('2')

/** Returns the operation's success status and response. */
export function successOf({ responses }: Described): [status: string, Response] {
  const found = Object.entries(responses).find(([status]) => isSuccess(status))
  if (found === undefined) throw new Error('Bug: an operation that never succeeds')
  return found
}

/** Returns `status code` of each error, in ascending order. */
export function errorsOf({ responses }: Described, document: Document): string[] {
  return Object.entries(responses)
    .filter(([status]) => !isSuccess(status))
    .flatMap(([status, response]) =>
      Object.keys(contentOf(follow(response, document)).examples ?? {}).map((code) => `${status} ${code}`),
    )
}
