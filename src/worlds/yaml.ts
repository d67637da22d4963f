import { Composer, type ErrorCode, Lexer, type LineCounter, type ParsedNode, Parser } from 'yaml'

/** A mistake in a text, with its offset. */
export interface Misplaced {
  offset: number
  /** Goes on after the place: “world.yaml:3:5 …”. It shows nothing of the text but signs: a secret may stand anywhere. */
  says: string
}

/** A text as the nodes of its one document, or what makes it no YAML that is read here. */
type Yaml = { contents: ParsedNode | null } | { mistakes: readonly Misplaced[] }

/** Deeper than any file has to be; some thousand levels would end the process. */
const deepest = 100

const options = {
  logLevel: 'silent',
  prettyErrors: false,
  stringKeys: true,
  merge: false,
  // Each key would be compared with each before it; who reads the nodes does that faster.
  uniqueKeys: false,
  resolveKnownTags: false,
} as const

/** Reads YAML 1.2, which JSON is a part of, as one document without custom tags. */
export function readYaml(text: string, lines: LineCounter): Yaml {
  const parser = new Parser(lines.addNewLine)
  const tokens = []
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length > deepest) return { mistakes: [told('RESOURCE_EXHAUSTION', parser.offset - 1, text)] }
  }
  tokens.push(...parser.end())
  const [document, another] = new Composer(options).compose(tokens, true, text.length)
  if (document === undefined) throw new Error('Bug: a text without a document.')
  const found = [...document.errors, ...document.warnings].map(({ code, pos: [offset] }) => told(code, offset, text))
  if (another !== undefined) found.push(told('MULTIPLE_DOCS', another.range[0], text))
  if (document.directives.yaml.version !== '1.2') found.push(told('BAD_DIRECTIVE', 0, text))
  return found.length > 0 ? { mistakes: found } : document
}

function told(code: ErrorCode, offset: number, text: string): Misplaced {
  if (offset >= text.trimEnd().length) return { offset, says: `cannot be read as YAML: ${unclosed}.` }
  const sign = /^[\][{},:&*!|>'"%@`#?-]/.exec(text.slice(offset, offset + 1))?.[0]
  const at = sign === undefined ? '' : ` (at ${sign})`
  return { offset, says: `cannot be read as YAML${at}: ${syntax[code]}.` }
}

const unclosed = 'it ends where a quote, bracket, brace or value is still missing'
const noTag = 'a tag (!…) is not accepted; write the value alone'

const syntax: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias has neither an anchor nor a tag',
  BAD_ALIAS: 'an alias or an anchor needs a name, which does not end with a colon',
  BAD_COLLECTION_TYPE: noTag,
  BAD_DIRECTIVE: 'a directive (%…) is not accepted; leave the line out',
  BAD_DQ_ESCAPE: 'in double quotes \\ begins an escape such as \\n; write \\\\ for the sign itself',
  BAD_INDENT: 'this is indented otherwise than what it belongs to',
  BAD_PROP_ORDER: 'an anchor stands after the sign of its value',
  BAD_SCALAR_START: 'a text that begins with this sign needs quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a key needs a line of its own that is indented like its neighbours, and a text with a colon in it needs quotes',
  BLOCK_IN_FLOW: 'between { } or [ ] everything is separated by commas',
  DUPLICATE_KEY: 'a key is given once',
  IMPOSSIBLE: 'this does not belong here',
  KEY_OVER_1024_CHARS: 'a key has at most 1024 characters',
  MISSING_CHAR: 'a colon, comma, space or quote is missing here',
  MULTILINE_IMPLICIT_KEY: 'a key and its colon stand on one line',
  MULTIPLE_ANCHORS: 'a value has at most one anchor',
  MULTIPLE_DOCS: 'a second document begins here; a file has one',
  MULTIPLE_TAGS: noTag,
  NON_STRING_KEY: 'a key is a text',
  RESOURCE_EXHAUSTION: `it is nested deeper than ${deepest} levels`,
  TAB_AS_INDENT: 'spaces indent a line; a tab does not',
  TAG_RESOLVE_FAILED: noTag,
  UNEXPECTED_TOKEN: 'this does not belong here, or something is missing before it',
}
