import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'rolldown/utils'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The package's entry points, as users import them, and the source file of each. */
export const entryPoints = {
  'payments-mcp/testing': 'src/testing/sandbox.ts',
  'payments-mcp/client': 'src/client/client.ts',
  'payments-mcp/service': 'src/service/service.ts',
  'payments-mcp/catalogue': 'tools/index.ts',
} as const

/** A JSDoc comment, split into its parts. */
interface DocComment {
  text: string
  tags: { name: string; text: string }[]
}

/** A declaration that an entry point exports. */
interface Exported {
  name: string
  kind: 'function' | 'type' | 'other'
  /** Whether the declaration is in the entry point's own file; false if it is re-exported from another file. */
  isOwn: boolean
  comment: DocComment
  /**
   * The code of the declaration. The body of a function or class is left out. The body of an interface is left out if
   * any of its members has a comment.
   */
  signature: string
  members: { signature: string; comment: DocComment }[]
}

/** A node of the parser's syntax tree, with the fields that this file reads. */
interface Node {
  type: string
  start: number
  end: number
  declaration?: Node | null
  source?: { value: string } | null
  specifiers?: { exported: { name: string } }[]
  id?: { name: string }
  body?: Node & { body?: Node[] }
  declarations?: Node[]
}

/**
 * Returns the reference of an entry point in Markdown: functions first, then its own types and values, then the types
 * and values that it re-exports from other files.
 */
export function apiReference(entryPoint: keyof typeof entryPoints): string {
  const all = exportsOf(entryPoints[entryPoint])
  const rank = ({ kind, isOwn }: Exported) => (kind === 'function' ? 0 : isOwn ? 1 : 2)
  return all
    .toSorted((one, other) => rank(one) - rank(other))
    .map(sectionOf)
    .join('\n\n')
}

/** Returns the code of each `@example` in the comments of an entry point. */
export function examplesOf(entryPoint: keyof typeof entryPoints): string[] {
  return exportsOf(entryPoints[entryPoint])
    .flatMap(({ comment, members }) => [comment, ...members.map((member) => member.comment)])
    .flatMap(({ tags }) => tags.filter(({ name }) => name === 'example'))
    .flatMap(({ text }) => /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? [])
}

/** Returns the declarations that a file exports, including re-exports from other files. */
function exportsOf(path: string): Exported[] {
  const source = readFileSync(join(root, path), 'utf8')
  const { program, comments } = parseSync(path, source)
  const commentBefore = (start: number) => {
    const last = comments.findLast(({ end }) => end <= start)
    const isNext = last !== undefined && source.slice(last.end, start).trim() === ''
    return parseComment(isNext && last.value.startsWith('*') ? last.value : '')
  }
  return (program.body as unknown as Node[]).flatMap((statement): Exported[] => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { declaration, source: from, specifiers = [] } = statement
    if (from) {
      const named = specifiers.map(({ exported }) => exported.name)
      const others = exportsOf(join(dirname(path), from.value))
      return others.filter(({ name }) => named.includes(name)).map((other) => ({ ...other, isOwn: false }))
    }
    if (!declaration) return []
    const name = (declaration.id ?? declaration.declarations?.[0]?.id)?.name ?? ''
    const isFunction = declaration.type === 'FunctionDeclaration'
    const isInterface = declaration.type === 'TSInterfaceDeclaration'
    const members = (isInterface ? (declaration.body?.body ?? []) : []).map((member) => ({
      signature: source.slice(member.start, member.end),
      comment: commentBefore(member.start),
    }))
    const endsBeforeBody = isFunction || declaration.type === 'ClassDeclaration' || isDescribed(members)
    return [
      {
        name,
        isOwn: true,
        kind: isFunction ? 'function' : declaration.type.startsWith('TS') ? 'type' : 'other',
        comment: commentBefore(statement.start),
        signature: source.slice(declaration.start, endsBeforeBody ? declaration.body?.start : declaration.end).trim(),
        members,
      },
    ]
  })
}

/** Splits the content of a JSDoc comment into its text and its tags. */
function parseComment(comment: string): DocComment {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''))
  const [text = '', ...tags] = lines.join('\n').split(/(?:^|\n| )@(?=(?:param|returns|throws|example)\b)/)
  return {
    text: text.trim(),
    tags: tags.map((tag) => {
      const [, name = '', rest = ''] = /^(\w+)\s*([\s\S]*)$/.exec(tag) ?? []
      return { name, text: rest.trim() }
    }),
  }
}

function sectionOf({ name, kind, comment, signature, members }: Exported): string {
  const isTable = isDescribed(members)
  const bases = /^interface \w+ extends (.*)$/.exec(signature)?.[1]?.split(', ') ?? []
  return [
    `### ${name}`,
    withLinks(comment.text),
    isTable || kind === 'other' ? '' : `\`\`\`ts\n${signature.replace('async ', '')}\n\`\`\``,
    comment.tags.flatMap((tag) => tagLine(tag).map((line) => `- ${line}`)).join('\n'),
    isTable ? membersTable(members) : '',
    isTable && bases.length > 0 ? `Also has the members of ${bases.map((base) => `\`${base}\``).join(' and ')}.` : '',
    ...[comment, ...members.map((member) => member.comment)]
      .flatMap(({ tags }) => tags.filter((tag) => tag.name === 'example'))
      .map(({ text }) => text.replace(/:\n```/, ':\n\n```')),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function isDescribed(members: Exported['members']): boolean {
  return members.some(({ comment }) => comment.text !== '')
}

function membersTable(members: Exported['members']): string {
  const rows = members.map(({ signature, comment: { text, tags } }) => {
    const code = signature
      .replace(/\s+/g, ' ')
      .replace(/\( | \)|,(?= \))/g, (found) => found.trim().replace(',', ''))
      .replace(/^(\w+\?: )(.*) \| undefined$/, (_, name, type) => name + type.replace(/^\((.*)\)$/, '$1'))
    return `| ${forCell(`\`${code}\``)} | ${[text, ...tags.flatMap(tagLine)].map(forCell).join(' <br>')} |`
  })
  return ['| Member | Description |', '| --- | --- |', ...rows].join('\n')
}

/** Returns the line that describes a tag, in an array. The array is empty for an example, which `sectionOf` renders. */
function tagLine({ name, text }: DocComment['tags'][number]): string[] {
  const oneLine = withLinks(text).replace(/\s+/g, ' ')
  if (name === 'param') return [oneLine.replace(/^(\w+) /, '`$1`: ')]
  if (name === 'returns') return [`Returns: ${oneLine}`]
  if (name === 'throws') {
    return [`Throws ${oneLine.replace(/^\{(\w+)\} (\w)/, (_, type, first) => `\`${type}\` ${first.toLowerCase()}`)}`]
  }
  return []
}

function forCell(text: string): string {
  return withLinks(text).replace(/\s+/g, ' ').replaceAll('|', '\\|')
}

/** Turns each reference to a document, such as `(docs/time.md)`, into a link. */
function withLinks(text: string): string {
  return text.replace(/\(docs\/([\w-]+\.md)(#[\w-]+)?\)/g, (_, file, anchor = '') => `([${file}](${file}${anchor}))`)
}
