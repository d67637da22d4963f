import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml'
import { show } from '../core/errors.ts'
import { readYaml, type YamlMistake } from './yaml.ts'

/** A line and a column in a text, both counted from 1. */
export interface Position {
  line: number
  column: number
}

/** A parsed value, with the position of each of its parts in the text. */
export interface ParsedText {
  value: unknown
  /** Mistakes that make the text unreadable. If there are any, `value` must not be used. */
  mistakes: readonly (Position & Pick<YamlMistake, 'says'>)[]
  /**
   * Returns the position of the value at a path. If there is no such value, returns the position of the nearest parent
   * that exists.
   */
  positionOf(path: readonly PropertyKey[]): Position
}

/** Parses YAML or JSON text. */
export function parseText(text: string): ParsedText {
  const lines = new LineCounter()
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const yaml = readYaml(text, lines)
  const reader = new Reader()
  const { value } = 'contents' in yaml ? reader.read(yaml.contents) : nothing
  const mistakes = 'mistakes' in yaml ? yaml.mistakes : reader.mistakes
  return {
    value,
    mistakes: mistakes.map(({ offset, says }) => ({ ...position(offset), says })),
    positionOf: (path) => position(reader.offsetOf(value, path)),
  }
}

/**
 * The maximum number of values in a text after its aliases are expanded. Nested aliases could otherwise expand a short
 * text to more values than fit in memory.
 */
const maxValues = 100_000

/** A value, and the number of values in it after its aliases are expanded. */
interface Counted {
  value: unknown
  count: number
}

const nothing: Counted = { value: null, count: 1 }

type Entries = Record<PropertyKey, unknown>

/**
 * Converts YAML nodes to values. An alias becomes the same object as the node that has the anchor, so mistakes inside
 * the object are reported at that node.
 */
class Reader {
  readonly mistakes: YamlMistake[] = []
  readonly #anchors = new Map<string, Counted>()
  /** The offsets of the entries of each object or list. */
  readonly #offsets = new WeakMap<object, Map<PropertyKey, number>>()

  read(node: Node | null | undefined): Counted {
    if (isAlias(node)) return this.#anchors.get(node.source) ?? this.#noAnchor(node)
    const read = isMap(node)
      ? this.#readMap(node)
      : isSeq(node)
        ? this.#list(node)
        : { value: isScalar(node) ? node.value : null, count: 1 }
    // An anchor is registered only after its value has been read, so that no value can contain itself.
    if (node !== null && node !== undefined && 'anchor' in node && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, read)
    }
    return read
  }

  /**
   * Returns the offset of the value at a path. If there is no such value, returns the offset of the nearest parent
   * that exists.
   */
  offsetOf(root: unknown, path: readonly PropertyKey[]): number {
    let value = root
    let offset = 0
    for (const key of path) {
      const found = isContainer(value) ? this.#offsets.get(value)?.get(key) : undefined
      if (found === undefined) break
      offset = found
      value = (value as Entries)[key]
    }
    return offset
  }

  #list(node: YAMLSeq): Counted {
    const items = node.items.map((item) => this.read(item as Node))
    const offsets = node.items.map((item, index) => [index, startOf(item as Node)] as const)
    return this.#countNodes(
      items.map(({ value }) => value),
      items,
      new Map(offsets),
      node,
    )
  }

  #readMap(node: YAMLMap): Counted {
    // Without a prototype, `constructor` and `__proto__` are ordinary keys.
    const entries: Entries = Object.create(null)
    const offsets = new Map<PropertyKey, number>()
    const parts: Counted[] = []
    const merged: Counted[] = []
    for (const pair of node.items as Pair<Node, Node | null>[]) {
      const key = keyOf(pair)
      const part = this.read(pair.value)
      parts.push(part)
      if (key === undefined) this.#addMistake(pair.key, 'a key must be a string, not an alias')
      else if (isMerge(pair)) merged.push(part)
      else if (offsets.has(key)) this.#addMistake(pair.key, `the key ${show(key)} is given twice`)
      else {
        entries[key] = part.value
        offsets.set(key, startOf(pair.key))
      }
    }
    const value = Object.create(null)
    for (const { value: source } of merged) this.#merge(source, value, offsets, node)
    return this.#countNodes(Object.assign(value, entries), parts, offsets, node)
  }

  /** Merges the maps of `<<: *base` or `<<: [*first, *second]`. Earlier aliases take precedence. */
  #merge(source: unknown, into: Entries, offsets: Map<PropertyKey, number>, node: Node): void {
    for (const base of Array.isArray(source) ? source : [source]) {
      if (!isContainer(base) || Array.isArray(base)) {
        this.#addMistake(node, '<< takes an alias of a map, or a list of such aliases')
        continue
      }
      const from = this.#offsets.get(base)
      for (const [key, value] of Object.entries(base)) {
        if (!(key in into)) into[key] = value
        if (!offsets.has(key)) offsets.set(key, from?.get(key) ?? startOf(node))
      }
    }
  }

  #countNodes(value: object, parts: readonly Counted[], offsets: Map<PropertyKey, number>, node: Node): Counted {
    this.#offsets.set(value, offsets)
    const count = parts.reduce((sum, part) => sum + part.count, 1)
    if (count <= maxValues) return { value, count }
    if (!this.mistakes.some(({ says }) => says === tooMany))
      this.mistakes.push({ offset: startOf(node), says: tooMany })
    return nothing
  }

  #noAnchor(node: Node): Counted {
    this.#addMistake(node, 'no anchor with this name comes before the alias')
    return nothing
  }

  #addMistake(node: Node, reason: string): void {
    this.mistakes.push({ offset: startOf(node), says: `cannot be read: ${reason}.` })
  }
}

const tooMany = `cannot be read: the file has more than ${maxValues} values after its aliases are expanded.`

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function keyOf({ key }: Pair<Node, unknown>): string | undefined {
  return isScalar(key) ? String(key.value ?? '') : undefined
}

function isMerge({ key }: Pair<Node, unknown>): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN'
}

function startOf(node: Node | null | undefined): number {
  return node?.range?.[0] ?? 0
}
