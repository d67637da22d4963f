import type { z } from 'zod'
import { describeAccepted, messageOfRule } from '../core/accepted-values.ts'
import { show } from '../core/errors.ts'
import { accepts, type Issue, withinUnion } from '../core/invalid-value.ts'
import { maskSecrets } from '../core/masking.ts'
import { centsIfDollars } from '../core/money.ts'
import { fieldsOf, isAmount, layersOf, layersUnder } from '../core/schema-fields.ts'
import { isSecret } from '../core/secret-fields.ts'
import { nearestWord } from '../core/spelling.ts'
import { pathInFile } from './fields.ts'

/** An invalid value in a file. */
export interface Mistake {
  /** The path to the value in the file. */
  path: readonly PropertyKey[]
  /** The message, with the field, its value and the accepted values. */
  says: string
}

/** Lists the mistakes that zod found in a value, with their paths in the file. */
export function mistakesOf(error: z.ZodError, value: unknown, schema: z.ZodType): Mistake[] {
  return error.issues
    .flatMap(withinUnion)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? unknownFields(issue, value, schema) : [mistakeOf(issue, value, schema)],
    )
}

/** The value at a path in a file, and its schema. */
interface Found {
  /** The path in the file, where the entries of a map have names instead of indexes (`listOf`). */
  path: readonly PropertyKey[]
  value: unknown
  layers: readonly z.ZodType[]
  isSecret: boolean
}

function find(root: unknown, schema: z.ZodType, steps: readonly PropertyKey[]): Found {
  const path = pathInFile(root, steps)
  let found: Found = { path, value: root, layers: layersOf(schema), isSecret: false }
  for (const [index, key] of path.entries()) {
    const { value, isSecret: isAlready } = found
    const holder = (typeof value === 'object' && value !== null ? value : {}) as Record<PropertyKey, unknown>
    const layers = layersUnder(found.layers, steps[index] ?? key)
    found = {
      path,
      value: Object.hasOwn(holder, key) ? holder[key] : undefined,
      layers,
      isSecret: isAlready || layers.some(isSecret),
    }
  }
  const mayBeSecret = typeof found.value === 'string' && holdsSecret([found.layers, layersUnder(found.layers, 0)])
  return mayBeSecret ? { ...found, isSecret: true } : found
}

/**
 * Returns whether any of the schemas has a secret field. If so, a string in place of the whole object may be that
 * secret.
 */
function holdsSecret(things: readonly (readonly z.ZodType[])[]): boolean {
  return things.some((layers) => fieldsOf(layers).some((name) => layersUnder(layers, name).some(isSecret)))
}

function unknownFields(
  issue: Extract<Issue, { code: 'unrecognized_keys' }>,
  root: unknown,
  schema: z.ZodType,
): Mistake[] {
  const { path, layers } = find(root, schema, issue.path)
  const fieldNames = fieldsOf(layers)
  return issue.keys.map((key) => {
    const nearestField = nearestWord(key, fieldNames)
    const advice = nearestField === undefined ? `use one of ${fieldNames.join(', ')}.` : `did you mean ${nearestField}?`
    return { path: [...path, key], says: `${formatPath([...path, key])} is not a known field; ${advice}` }
  })
}

/** Creates a mistake at a path. `message` continues a sentence whose subject is the field at that path. */
export function mistakeAt(steps: readonly PropertyKey[], message: string, root: unknown, schema: z.ZodType): Mistake {
  const found = find(root, schema, steps)
  const { path, value } = found
  const isShown = value !== undefined && typeof value !== 'object'
  return { path, says: `${formatPath(path)} ${isShown ? `got ${receivedText(found)}; it ` : ''}${message}.` }
}

function mistakeOf(issue: Issue, root: unknown, schema: z.ZodType): Mistake {
  if (issue.code === 'custom' && messageOfRule(issue.message) === undefined)
    return mistakeAt(issue.path, issue.message, root, schema)
  const found = find(root, schema, issue.path)
  const { path, value, layers } = found
  const name = formatPath(path)
  const words = acceptedWords(issue, layers)
  if (issue.code === 'invalid_key') return { path, says: `${name} has an invalid key; a value must be ${words}.` }
  const isFlat = typeof value === 'string' || (path.length === 0 && value !== undefined && typeof value !== 'object')
  if (isFlat && expectsStructure(issue)) {
    // The user may have given the wrong file, such as a password file, so none of its content is shown.
    const instead = path.length === 0 ? 'is a single string without fields, not a world' : `got ${hiddenValue(value)}`
    return { path, says: `${name} ${instead}; it accepts ${words}.` }
  }
  if (value === null && path.length === 0) return { path, says: `${name} is empty; it must contain ${words}.` }
  if (value !== undefined) {
    return { path, says: `${name} got ${receivedText(found)}; it accepts ${words}.${guess(issue, found)}` }
  }
  if (issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union')
    return { path, says: `${name} is missing; it accepts ${words}.` }
  // There is no value at the path, and the issue has none of the codes above: a name in a map is invalid.
  const entry = path.slice(0, -1)
  return { path: entry, says: `${formatPath(entry)} has the name ${show(entry.at(-1))}; it accepts ${words}.` }
}

/** Suggests the value that the author probably meant. Returns an empty string if there is no suggestion. */
function guess(issue: Issue, { value, layers }: Found): string {
  const cents = layers.some(isAmount) ? centsIfDollars(value) : undefined
  if (cents !== undefined) return ` If you meant dollars, write ${cents}.`
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return ''
  const nearestValue = nearestWord(
    value,
    issue.values.filter((allowed) => typeof allowed === 'string'),
  )
  return nearestValue === undefined ? '' : ` Did you mean ${nearestValue}?`
}

function expectsStructure(issue: Issue): boolean {
  return issue.code === 'invalid_type' && ['object', 'array', 'record', 'map'].includes(issue.expected)
}

function receivedText({ value, isSecret }: Found): string {
  return isSecret ? hiddenValue(value) : show(value)
}

function hiddenValue(value: unknown): string {
  return typeof value === 'string' ? `a value of ${value.length} characters (not shown)` : 'a value (not shown)'
}

function acceptedWords(issue: Issue, layers: readonly z.ZodType[]): string {
  const ruleMessage =
    issue.code === 'custom' || issue.code === 'invalid_format' ? messageOfRule(issue.message) : undefined
  if (ruleMessage !== undefined) return ruleMessage
  return (issue.code === 'invalid_key' ? undefined : acceptedOf(layers)) ?? accepts(issue)
}

/** Describes the values that a field accepts. Returns undefined if a part of the schema has no description. */
export function acceptedOf(layers: readonly z.ZodType[]): string | undefined {
  if (layers.some(({ def }) => def.type === 'pipe') && layers.some(({ def }) => def.type === 'array'))
    return 'a list, or a map with names as keys'
  const inner = layers.filter((layer) => layersOf(layer).length === 1)
  const words = inner.map((layer) => describeAccepted(layer, layers.some(isAmount)))
  if (layers.some(({ def }) => def.type === 'nullable')) words.push('null')
  return words.length === 0 || words.includes(undefined) ? undefined : [...new Set(words)].join(', or ')
}

/** Formats a path in the notation of JavaScript: `parties[0].wallets.main.balance`. */
export function formatPath(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`
    const name = String(step)
    return /^\w[\w-]{0,59}$/.test(name) ? `.${maskSecrets(name)}` : `[${show(name)}]`
  })
  return steps.length === 0 ? 'the file' : steps.join('').replace(/^\./, '')
}
