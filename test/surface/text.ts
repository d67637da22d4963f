import { createHash } from 'node:crypto'
import type { Tool } from '@modelcontextprotocol/server'
import { encode } from 'gpt-tokenizer'
import type { OperationDefinition } from '../../src/core/operation.ts'
import {
  bodyOf,
  contentOf,
  type Document,
  type DocumentedOperation,
  errorsOf,
  follow,
  operationIn,
  successOf,
} from './document.ts'
import { type Field, fieldLine, fieldsOf, type Schema } from './fields.ts'

interface Context {
  tool: Tool
  document: Document
  /** The errors that every operation can return. The text of an operation omits them. */
  commonErrors: readonly string[]
}

/**
 * Describes an operation as agents and API clients see it. The digests in the first line also cover the details that
 * the other lines omit.
 */
export function operationText(operation: OperationDefinition, { tool, document, commonErrors }: Context): string {
  const { name, method, path, effect, permission, toolsets, environments } = operation
  const { title, description, inputSchema } = tool
  const described = operationIn(document, operation)
  const tokens = encode(JSON.stringify({ name, description, inputSchema })).length
  const errors = errorsOf(described, document).filter((error) => !commonErrors.includes(error))
  const facts = [effect, permission, toolsets.join(' '), environments.join(' ')]
  return textOf(`${name}  ${method} ${path} · ${tokens} tokens · tool ${digest(tool)} · REST ${digest(described)}`, [
    `${title}. ${description}`,
    [...facts, ...headersOf(described, document), ...errors].join(' · '),
    ...inputLines(inputsOf(described), fieldsOf(tool.inputSchema as Schema)),
    `→ ${answerOf(described)}`,
  ])
}

export function textOf(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `  ${line}`)].join('\n')
}

/** Returns a short digest of the value as JSON. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 8)
}

function headersOf({ parameters }: DocumentedOperation, document: Document): string[] {
  return parameters
    .map((parameter) => follow(parameter, document))
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, required }) => `${name}${required ? '' : '?'}`)
}

/** Returns the arguments of the REST request: path parameters, query parameters and body fields. */
function inputsOf(described: DocumentedOperation): Field[] {
  const parameters = described.parameters.filter((parameter) => 'schema' in parameter)
  return [
    ...parameters.flatMap(({ name, required, description, schema }) =>
      fieldsOf({ ...schema, ...(description === undefined ? {} : { description }) }, name, !required),
    ),
    ...fieldsOf(bodyOf(described) ?? {}).map((field) => ({ ...field, path: field.path.replace('attributes.', '') })),
  ].filter(({ path }) => path !== '' && path !== 'attributes')
}

/**
 * Returns one line for each argument that REST and the tool share, with the description from the tool. A last line
 * lists the arguments that only REST has and those that only the tool has.
 */
function inputLines(restFields: readonly Field[], toolFields: readonly Field[]): string[] {
  const byPath = new Map(toolFields.map((field) => [field.path, field]))
  const restPaths = new Set(restFields.map(({ path }) => path))
  // In a tool, a list of {key, value} replaces an object with arbitrary keys. The `key` and `value` of the entries are
  // not extra arguments.
  const toolOnly = toolFields.filter(
    ({ path }) => path !== '' && !restPaths.has(path) && !/\[\]\.(key|value)$/.test(path),
  )
  const restOnly = restFields.filter(({ path }) => !byPath.has(path))
  return [
    ...restFields
      .filter(({ path }) => byPath.has(path))
      .map((field) => fieldLine({ ...field, description: byPath.get(field.path)?.description })),
    ...joinLines([...titledLine('REST only', restOnly), ...titledLine('tool only', toolOnly)]),
  ]
}

function joinLines(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [lines.join(' · ')]
}

function titledLine(title: string, fields: readonly Field[]): string[] {
  return fields.length === 0 ? [] : [`${title}: ${fields.map(fieldLine).join(', ')}`]
}

function answerOf(described: DocumentedOperation): string {
  const [status, response] = successOf(described)
  const { data: dataSchema, meta, ...more } = contentOf(response).schema.properties ?? {}
  const [data = dataSchema, none] = dataSchema?.anyOf ?? []
  const { pagination, ...besides } = meta?.properties ?? {}
  const resource = String((data?.items ?? data)?.$ref)
    .split('/')
    .at(-1)
  const listWords = pagination === undefined ? 'list of' : 'page of'
  const otherParts = [
    ...fieldsOf({ properties: besides, required: meta?.required ?? [] }).map((field) => ({
      ...field,
      path: `meta.${field.path}`,
    })),
    ...fieldsOf({ properties: more }),
  ].filter(({ kind }) => kind !== '')
  const answer = data?.items === undefined ? resource : `${listWords} ${resource}`
  const words = [status === '200' ? '' : status, answer, none === undefined ? '' : 'or null']
  return [words.filter((word) => word !== '').join(' '), ...otherParts.map(fieldLine)].join(', ')
}
