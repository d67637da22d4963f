import { createHash } from 'node:crypto'
import type { Tool } from '@modelcontextprotocol/server'
import { encode } from 'gpt-tokenizer'
import type { OperationDefinition } from '../../src/core/operation.ts'
import {
  bodyOf,
  contentOf,
  type Described,
  type Document,
  errorsOf,
  follow,
  operationIn,
  successOf,
} from './document.ts'
import { type Field, fieldLine, fieldsOf, type Schema } from './fields.ts'

interface Seen {
  tool: Tool
  document: Document
  /** The errors that every operation can return. */
  usual: readonly string[]
}

/**
 * Returns an operation as agents and API clients see it. Its first line changes with everything that the other lines
 * omit.
 */
export function operationText(operation: OperationDefinition, { tool, document, usual }: Seen): string {
  const { name, method, path, effect, permission, toolsets, environments } = operation
  const { title, description, inputSchema } = tool
  const described = operationIn(document, operation)
  const tokens = encode(JSON.stringify({ name, description, inputSchema })).length
  const errors = errorsOf(described, document).filter((error) => !usual.includes(error))
  const facts = [effect, permission, toolsets.join(' '), environments.join(' ')]
  return textOf(`${name}  ${method} ${path} · ${tokens} tokens · tool ${digest(tool)} · REST ${digest(described)}`, [
    `${title}. ${description}`,
    [...facts, ...headersOf(described, document), ...errors].join(' · '),
    ...inputLines(inputsOf(described), fieldsOf(tool.inputSchema as Schema)),
    `→ ${answerOf(described)}`,
  ])
}

/** Returns a title with its lines indented below. */
export function textOf(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `  ${line}`)].join('\n')
}

/** Returns a digest of any value. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 8)
}

function headersOf({ parameters }: Described, document: Document): string[] {
  return parameters
    .map((parameter) => follow(parameter, document))
    .filter((parameter) => parameter.in === 'header')
    .map(({ name, required }) => `${name}${required ? '' : '?'}`)
}

/** Returns the service's arguments: those of the path, the query and the body. */
function inputsOf(described: Described): Field[] {
  const places = described.parameters.filter((parameter) => 'schema' in parameter)
  return [
    ...places.flatMap(({ name, required, description, schema }) =>
      fieldsOf({ ...schema, ...(description === undefined ? {} : { description }) }, name, !required),
    ),
    ...fieldsOf(bodyOf(described) ?? {}).map((field) => ({ ...field, path: field.path.replace('attributes.', '') })),
  ].filter(({ path }) => path !== '' && path !== 'attributes')
}

/** Returns the shared fields of REST and the tool, with the tool's descriptions, and the fields that only one has. */
function inputLines(served: readonly Field[], offered: readonly Field[]): string[] {
  const byPath = new Map(offered.map((field) => [field.path, field]))
  const servedPaths = new Set(served.map(({ path }) => path))
  // Over MCP, an object with free keys becomes a list of {key, value}.
  const toolOnly = offered.filter(
    ({ path }) => path !== '' && !servedPaths.has(path) && !/\[\]\.(key|value)$/.test(path),
  )
  const restOnly = served.filter(({ path }) => !byPath.has(path))
  return [
    ...served
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

function answerOf(described: Described): string {
  const [status, response] = successOf(described)
  const { data: dataSchema, meta, ...more } = contentOf(response).schema.properties ?? {}
  const [data = dataSchema, none] = dataSchema?.anyOf ?? []
  const { pagination, ...besides } = meta?.properties ?? {}
  const resource = String((data?.items ?? data)?.$ref)
    .split('/')
    .at(-1)
  const some = pagination === undefined ? 'list of' : 'page of'
  const otherParts = [
    ...fieldsOf({ properties: besides, required: meta?.required ?? [] }).map((field) => ({
      ...field,
      path: `meta.${field.path}`,
    })),
    ...fieldsOf({ properties: more }),
  ].filter(({ kind }) => kind !== '')
  const answer = data?.items === undefined ? resource : `${some} ${resource}`
  const words = [status === '200' ? '' : status, answer, none === undefined ? '' : 'or null']
  return [words.filter((word) => word !== '').join(' '), ...otherParts.map(fieldLine)].join(', ')
}
