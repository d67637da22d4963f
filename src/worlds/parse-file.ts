import type { z } from 'zod'
import { type Position, parseText } from './parse-text.ts'
import { type Mistake, mistakeAt, mistakesOf } from './schema-mistakes.ts'

/**
 * The error for an invalid file, such as a world file. Each line states a mistake, and its position if the input is
 * text.
 */
export class WorldFileError extends Error {
  override readonly name = 'WorldFileError'
  readonly lines: readonly string[]

  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.lines = lines
  }
}

/** The maximum size of a file in bytes, which is enough for more than a thousand parties. */
export const maxBytes = 1_048_576
/** The maximum number of mistakes listed in one error. */
const maxListed = 20
/** The maximum length of a line of the error. Longer lines are cut off. */
const maxLineLength = 600

/** A parsed file, and a function for reporting mistakes that are found only when the value is used. */
export interface ParsedFile<Value> {
  value: Value
  /** Creates the error for a mistake at a path in the value. */
  refusal(path: readonly PropertyKey[], message: string): WorldFileError
}

/**
 * Parses a YAML or JSON file and checks it against the schema. `source` is the file's text, or an equivalent object.
 * @param name the name of the file in errors
 * @throws WorldFileError
 */
export function parseFile<Schema extends z.ZodType>(
  source: string | object,
  name: string,
  schema: Schema,
): z.output<Schema> {
  return parsedFile(source, name, schema).value
}

/**
 * Parses and checks a file as `parseFile` does. The result can also create errors for mistakes that are found later.
 * @throws WorldFileError
 */
export function parsedFile<Schema extends z.ZodType>(
  source: string | object,
  name: string,
  schema: Schema,
): ParsedFile<z.output<Schema>> {
  if (typeof source !== 'string') return check(source, schema, (found) => found.map(({ says }) => `${name}: ${says}`))
  if (Buffer.byteLength(source) > maxBytes) throw refusal([`${name} is larger than 1 MiB, the limit for files.`])
  const { value, mistakes, positionOf } = parseText(source)
  if (mistakes.length > 0) throw refusal(sortedLines(name, firstOfEachLine(mistakes)))
  const withPosition = ({ path, says }: Mistake) => ({ ...positionOf(path), says })
  return check(value, schema, (found) => sortedLines(name, found.map(withPosition)))
}

function check<Schema extends z.ZodType>(
  source: unknown,
  schema: Schema,
  lines: (mistakes: readonly Mistake[]) => string[],
): ParsedFile<z.output<Schema>> {
  const result = schema.safeParse(source)
  if (!result.success) throw refusal(lines(mistakesOf(result.error, source, schema)))
  const { data: value } = result
  return { value, refusal: (path, message) => refusal(lines([mistakeAt(path, message, source, schema)])) }
}

type PositionedMistake = Position & { says: string }

function sortedLines(name: string, mistakes: readonly PositionedMistake[]): string[] {
  return mistakes
    .toSorted((one, other) => one.line - other.line || one.column - other.column)
    .map(({ line, column, says }) => `${name}:${line}:${column} ${says}`)
}

/** Returns only the first mistake on each line, because that mistake often causes the others on the line. */
function firstOfEachLine(mistakes: readonly PositionedMistake[]): PositionedMistake[] {
  return [...new Map(mistakes.toReversed().map((mistake) => [mistake.line, mistake])).values()]
}

function refusal(lines: readonly string[]): WorldFileError {
  const visibleLines = lines
    .slice(0, maxListed)
    .map((line) => (line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line))
  const more = lines.length - visibleLines.length
  return new WorldFileError(more === 0 ? visibleLines : [...visibleLines, `… and ${more} more.`])
}
