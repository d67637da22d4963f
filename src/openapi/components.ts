/** A JSON Schema (2020-12). Only the keywords that the project uses by name are declared. */
export interface JsonSchema {
  [keyword: string]: unknown
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  pattern?: string
  format?: string
  minimum?: number
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
}

/** The request headers. The OpenAPI document lists them under `#/components/parameters/`. */
export const headerParameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description: 'Identifies one operation. Generate a key for each, and send the same key with every retry.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  InstanceIdOfAgents: {
    name: 'X-Instance-ID',
    in: 'header',
    required: false,
    description: 'The agent run, session or conversation that causes the request. Agents must send it.',
    schema: { type: 'string', minLength: 1, maxLength: 1024 },
  },
  InstanceId: {
    name: 'X-Instance-ID',
    in: 'header',
    required: false,
    description: 'The agent run, session or conversation that causes the request.',
    schema: { type: 'string', maxLength: 1024 },
  },
  AgentId: {
    name: 'X-Agent-ID',
    in: 'header',
    required: false,
    description: "The agent that makes a request with a party API key. Omit it with an agent's own credential.",
    schema: { type: 'string', pattern: '^agt_[0-9a-f]{32}$', maxLength: 36 },
  },
}

/** The response headers. The OpenAPI document lists them under `#/components/headers/`. */
export const responseHeaders = {
  'X-RateLimit-Limit': { description: 'Requests allowed per window.', schema: { type: 'integer', minimum: 1 } },
  'X-RateLimit-Remaining': { description: 'Requests left in the window.', schema: { type: 'integer', minimum: 0 } },
  'X-RateLimit-Reset': { description: 'Unix time (seconds) when the window resets.', schema: { type: 'integer' } },
  'X-Idempotency-Replayed': {
    description: 'Present if this response was recorded for an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: { type: 'integer', minimum: 0 } },
}

/** The schema of `meta.pagination` in a list response (docs/service.md#lists). */
export const paginationSchema: JsonSchema = {
  type: 'object',
  properties: {
    hasMore: { type: 'boolean', description: 'Whether more results exist' },
    nextCursor: { type: ['string', 'null'], description: 'The cursor of the next page; null when hasMore is false' },
  },
  required: ['hasMore', 'nextCursor'],
}

/** The schema of one element of `errors` in an error response (docs/service.md#error-format). */
export const errorSchema: JsonSchema = {
  type: 'object',
  properties: {
    code: { type: 'string', description: 'The error code, which stays the same across versions' },
    detail: { type: 'string', description: 'A message that is safe to show to users' },
    status: { type: 'string', pattern: '^[45]\\d\\d$', description: 'The HTTP status code' },
    source: {
      type: 'object',
      description: 'The location of the invalid value',
      properties: {
        pointer: { type: 'string', format: 'json-pointer' },
        parameter: { type: 'string' },
        header: { type: 'string' },
      },
    },
    meta: {
      type: 'object',
      properties: {
        supportId: { type: 'string' },
        retryable: { type: 'boolean', description: 'If true, repeat the request with the same key.' },
        minimum: { type: 'integer', description: 'The smallest value that the field in source accepts' },
        maximum: { type: 'integer', description: 'The largest value that the field in source accepts' },
        limitScope: { type: 'string', enum: ['merchant', 'program'] },
        connectionStatus: { type: 'string', enum: ['login_required', 'disconnected'] },
        provider: {
          type: 'object',
          properties: {
            name: { type: 'string', enum: ['plaid'] },
            errorCode: { type: 'string' },
            errorType: { type: 'string' },
            requestId: { type: 'string' },
          },
          required: ['name'],
        },
      },
      required: ['supportId'],
    },
  },
  required: ['code', 'detail', 'status', 'meta'],
}
