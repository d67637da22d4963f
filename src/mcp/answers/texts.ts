import type { OperationDefinition } from '../../core/operation.ts'
import { columns, hashes } from './columns.ts'
import { type Fields, fieldsOf, idInWords, metaFields, type Resource } from './fields.ts'
import { word } from './quoted-text.ts'

/** Options for rendering an answer as text. */
export interface TextOptions {
  operation: OperationDefinition
  /** Whether to include hashes, which a model cannot use. */
  withHashes: boolean
  /** The tool that reads one record of the list. If the connection has no such tool, the list shows all fields. */
  reader: string | undefined
}

/** Renders an answer as text for a model: a record in two lines, a list as a table. */
export function textOf(
  { data, meta = {} }: { data: unknown; meta?: object | undefined },
  options: TextOptions,
): string {
  const { operation, withHashes } = options
  const { pagination, ...otherMeta } = meta as { pagination?: { nextCursor?: unknown } }
  const lines = linesOf(data, options)
  const metaPairs = pairs(metaFields(operation, otherMeta))
  const { nextCursor } = pagination ?? {}
  return [
    ...lines,
    ...(metaPairs === '' ? [] : [`meta: ${metaPairs}`]),
    ...(leavesOut(operation) && !withHashes ? [`Left out: ${hashes.join(', ')}; detail "full" shows them.`] : []),
    ...(typeof nextCursor === 'string' ? [`There are more: repeat the call with cursor ${idInWords(nextCursor)}`] : []),
  ].join('\n')
}

function linesOf(data: unknown, options: TextOptions): string[] {
  if (Array.isArray(data)) return linesOfList(data.map(asRecord), options)
  return data === null ? ['There is none.'] : linesOfRecord(asRecord(data), options)
}

/** Returns whether the text of the operation's answers leaves out fields that the argument `detail` can add. */
export function leavesOut({ output }: OperationDefinition): boolean {
  const { shape = {} } = (output.shape.attributes ?? {}) as { shape?: object }
  return hashes.some((name) => Object.hasOwn(shape, name))
}

/** Renders a record: the main fields on the first line, all other fields on the second. */
function linesOfRecord(record: Resource, { operation, withHashes }: TextOptions): string[] {
  const fields = fieldsOf(operation, record, 'whole', withHashes)
  const first = pathsOf(columns[String(record.type)] ?? [], [fields])
  const mainFields = new Map(first.map((path) => [path, fields.get(path) ?? '']))
  const rest = new Map([...fields].filter(([path]) => !mainFields.has(path)))
  const name = `${word(record.type)} ${idInWords(record.id)}`
  return [[name, pairs(mainFields)], [pairs(rest)]]
    .map((parts) => parts.filter((part) => part !== '').join(' · '))
    .filter(Boolean)
}

/**
 * Renders a table. A field with the same value in all records is shown once, above the table. A main field stays a
 * column unless the shared value is an id.
 */
function linesOfList(records: readonly Resource[], { operation, withHashes, reader }: TextOptions): string[] {
  const [first] = records
  if (first === undefined) return ['Nothing found.']
  if (records.length === 1) return linesOfRecord(first, { operation, withHashes, reader })
  const rows = records.map((record) => fieldsOf(operation, record, 'short', withHashes))
  const main = pathsOf(columns[String(first.type)] ?? [], rows)
  const others = pathsOf([''], rows).filter((path) => !main.includes(path))
  const isShared = (path: string) => rows.every((fields) => fields.get(path) === rows[0]?.get(path))
  const isShownOnce = (path: string) =>
    isShared(path) && (!main.includes(path) || /^[a-z]{3}_/.test(rows[0]?.get(path) ?? ''))
  const shownOnce = new Map([...main, ...others].filter(isShownOnce).map((path) => [path, rows[0]?.get(path) ?? '']))
  const varying = others.filter((path) => !shownOnce.has(path))
  const paths = [...main.filter((path) => !shownOnce.has(path)), ...(reader === undefined ? varying : [])]
  const isLeftOut = reader !== undefined && varying.length > 0
  return [
    `${records.length} of ${word(first.type)}${shownOnce.size === 0 ? '' : `, each: ${pairs(shownOnce)}`}`,
    ['id', ...paths].join(' | '),
    ...rows.map((fields, index) =>
      [idInWords(records[index]?.id), ...paths.map((path) => fields.get(path) ?? '')].join(' | '),
    ),
    ...(isLeftOut ? [`${reader} shows all fields of one record.`] : []),
  ]
}

/** Returns the paths of the fields with the given names, and of their inner fields. The name '' matches all fields. */
function pathsOf(names: readonly string[], rows: readonly Fields[]): string[] {
  const paths = [...new Set(rows.flatMap((fields) => [...fields.keys()]))]
  return names.flatMap((name) => paths.filter((path) => name === '' || path === name || path.startsWith(`${name}.`)))
}

const pairs = (fields: Fields) => [...fields].map(([path, text]) => `${path} ${text}`).join(' · ')

const asRecord = (data: unknown): Resource => (typeof data === 'object' && data !== null ? data : {})
