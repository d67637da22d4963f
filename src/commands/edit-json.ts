import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

/** The formatting that an edit of a file preserves. */
interface Style {
  indent: string
  eol: string
}

/**
 * Returns the text of a JSON file with a new value at a path of member names. The file may contain comments. All other
 * content keeps its place and format.
 */
export function withValue(text: string, path: readonly string[], value: unknown): string {
  const style = { indent: /^[ \t]+(?=\S)/m.exec(text)?.[0] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' }
  const root = parseTree(text, [], { allowTrailingComma: true })
  if (root === undefined) return `${text}${renderedValue(nestedValue(path, value), '', style)}${style.eol}`
  for (let depth = path.length; depth > 0; depth--) {
    const node = findNodeAtLocation(root, path.slice(0, depth))
    if (node === undefined) continue
    if (depth === path.length) return replaceNode(text, node, renderedValue(value, indentAt(text, node.offset), style))
    return withMember(text, node, path[depth] ?? '', nestedValue(path.slice(depth + 1), value), style)
  }
  return withMember(text, root, path[0] ?? '', nestedValue(path.slice(1), value), style)
}

/** Adds a member at the end of an object, after its other members and comments. */
function withMember(text: string, object: Node, name: string, value: unknown, style: Style): string {
  const end = object.offset + object.length - 1
  const last = object.children?.at(-1)
  const head = text.slice(0, object.offset)
  const inside = text.slice(object.offset, end)
  const rest = text.slice(end)
  const needsComma = last !== undefined && !isCommaAt(text, last.offset + last.length)
  const at = last === undefined ? inside.length : last.offset + last.length - object.offset
  const before = needsComma ? `${inside.slice(0, at)},${inside.slice(at)}` : inside
  if (last !== undefined && !inside.includes('\n')) {
    return `${head}${before.trimEnd()} ${JSON.stringify(name)}: ${JSON.stringify(value)}${rest}`
  }
  const outer = indentAt(text, object.offset)
  const first = object.children?.[0]
  const inner = first === undefined ? outer + style.indent : indentAt(text, first.offset)
  const member = `${style.eol}${inner}${JSON.stringify(name)}: ${renderedValue(value, inner, style)}`
  return `${head}${before.trimEnd()}${member}${style.eol}${outer}${rest}`
}

function replaceNode(text: string, { offset, length }: Node, replacement: string): string {
  return text.slice(0, offset) + replacement + text.slice(offset + length)
}

function renderedValue(value: unknown, indent: string, style: Style): string {
  return JSON.stringify(value, null, style.indent).replaceAll('\n', style.eol + indent)
}

function nestedValue(path: readonly string[], value: unknown): unknown {
  return path.reduceRight((inner, name) => ({ [name]: inner }), value)
}

/** Returns the indentation of the line that contains the offset. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

function isCommaAt(text: string, offset: number): boolean {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  return text.startsWith(',', scanner.getTokenOffset())
}
