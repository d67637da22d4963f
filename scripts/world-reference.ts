import { z } from 'zod'
import { fieldsOf, layersOf, layersUnder } from '../src/core/schema-fields.ts'
import { acceptedOf } from '../src/worlds/schema-mistakes.ts'
import { worldShape } from '../src/worlds/shape.ts'

/** A function that formats a Markdown table from its head and its rows. */
type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string

type Layers = readonly z.ZodType[]

/**
 * Returns a table for each kind of record in a world file. Together the tables list every field with its description
 * from the schema.
 */
export function worldReference(table: Table): string {
  const sections: string[] = []
  const shownAt = new Map<unknown, string>()
  /**
   * Returns a reference to the path at which the same table or text was already shown. Otherwise, notes `path` for
   * later calls and returns undefined.
   */
  const referenceTo = (content: unknown, path: string): string | undefined => {
    const earlier = shownAt.get(content)
    if (earlier === undefined) shownAt.set(content, path)
    return earlier === undefined ? undefined : `the same as \`${earlier}\``
  }
  const visit = (place: string, layers: Layers): void => {
    // The tables omit `ref`, because docs/worlds.md explains this field above the tables.
    const names = fieldsOf(layers).filter((name) => name !== 'ref')
    const fields = names.map((name) => ({ name, under: layersUnder(layers, name), path: `${place}${name}` }))
    const inner: (() => void)[] = []
    const rows = fields.map(({ name, under, path }) => {
      const objects = [...under, ...layersUnder(under, 0)].filter((layer) => layer instanceof z.ZodObject)
      const words = acceptsOf(under)
      const reference =
        objects.length > 0 ? referenceTo(objects[0], path) : words.length > 80 ? referenceTo(words, path) : undefined
      const isTable = objects.length > 0 && reference === undefined && name !== 'limits'
      if (isTable) inner.push(() => visit(`${path}.`, objects))
      return [`\`${name}\``, meaningOf(name, under), reference ?? words]
    })
    sections.push(
      `### ${place === '' ? 'The file' : place.slice(0, -1)}\n\n${table(['Field', 'Meaning', 'Accepts'], rows)}`,
    )
    for (const next of inner) next()
  }
  visit('', layersOf(worldShape))
  return sections.join('\n\n')
}

function meaningOf(name: string, layers: Layers): string {
  const words = layers.filter((layer) => layer instanceof z.ZodLiteral)
  if (words.length > 1) return words.map(({ value, description }) => `\`${value}\`: ${description}`).join('; ')
  const meaning = layers.map(({ description }) => description).find((text) => text !== undefined) ?? ''
  return name === 'id' ? 'The id of the record' : meaning
}

function acceptsOf(layers: Layers): string {
  const fields = fieldsOf(layers)
  if (fields.length > 0)
    return `an object: ${fields.map((field) => fieldOf(field, layersUnder(layers, field))).join('; ')}`
  const elements = layersUnder(layers, 0)
  const isPlainList = layers.some((layer) => layer instanceof z.ZodArray) && fieldsOf(elements).length === 0
  return isPlainList ? `a list; each item is ${acceptedOf(elements)}` : (acceptedOf(layers) ?? '')
}

const fieldOf = (name: string, layers: Layers) =>
  name.startsWith('per') ? `\`${name}\`, ${acceptedOf(layers)}` : `\`${name}\``
