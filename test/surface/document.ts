import type { Environment, OperationDefinition } from '../../src/core/operation.ts'
import { openApiDocument } from '../../src/openapi/document.ts'
import type { Schema } from './fields.ts'

export const serverUrl = 'http://127.0.0.1:4010'

/** The parts of the OpenAPI document that the tests use. */
export interface Document {
  paths: Record<string, Record<string, DocumentedOperation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    parameters: Record<string, Parameter>
    headers: Record<string, { description: string; schema: Schema }>
    securitySchemes: object
  }
}

export interface DocumentedOperation {
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

export function operationIn(document: Document, { method, path }: OperationDefinition): DocumentedOperation {
  const described = document.paths[path]?.[method.toLowerCase()]
  if (described === undefined) throw new Error(`Bug: the document has no ${method} ${path}`)
  return described
}

/** Returns the target of the `$ref` in the value. Returns the value itself if it has no `$ref`. */
export function follow<T extends object>(value: T, document: Document): T {
  const { $ref } = value as { $ref?: string }
  if ($ref === undefined) return value
  const steps = $ref.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((parent, step) => (parent as Record<string, unknown>)[step], document) as T
}

export function contentOf({ content }: Pick<Response, 'content'>): Media {
  const media = content['application/json']
  if (media === undefined) throw new Error('Bug: a request or response has no JSON content')
  return media
}

/** Returns the schema of `data` in the request body, or undefined if the operation takes no body. */
export function bodyOf({ requestBody }: DocumentedOperation): Schema | undefined {
  return requestBody && contentOf(requestBody).schema.properties?.data
}

const isSuccess = (status: string) => status.startsWith('2')

/** Returns the operation's success status and success response. */
export function successOf({ responses }: DocumentedOperation): [status: string, Response] {
  const found = Object.entries(responses).find(([status]) => isSuccess(status))
  if (found === undefined) throw new Error('Bug: an operation has no success response')
  return found
}

/** Returns the operation's errors, such as `404 not_found`, in ascending order of status. */
export function errorsOf({ responses }: DocumentedOperation, document: Document): string[] {
  return Object.entries(responses)
    .filter(([status]) => !isSuccess(status))
    .flatMap(([status, response]) =>
      Object.keys(contentOf(follow(response, document)).examples ?? {}).map((code) => `${status} ${code}`),
    )
}
