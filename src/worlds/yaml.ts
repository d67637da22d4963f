import { Composer, type ErrorCode, Lexer, type LineCounter, type ParsedNode, Parser } from 'yaml'

/** A mistake in YAML text, with its offset. */
export interface YamlMistake {
  offset: number
  /**
   * The message that follows the position, as in “world.yaml:3:5 …”. It quotes only punctuation, because any other text
   * may be a secret.
   */
  says: string
}

/** The nodes of the only document in a text, or the mistakes that make the text unreadable. */
type Yaml = { contents: ParsedNode | null } | { mistakes: readonly YamlMistake[] }

/** The maximum nesting depth. A few thousand levels would crash the process. */
const maxDepth = 100

const options = {
  logLevel: 'silent',
  prettyErrors: false,
  stringKeys: true,
  merge: false,
  // If this were true, the library would compare every pair of keys. `Reader` in parse-text.ts finds duplicates faster.
  uniqueKeys: false,
  resolveKnownTags: false,
} as const

/** Parses a text that is a single YAML 1.2 document without custom tags. YAML 1.2 includes JSON. */
export function readYaml(text: string, lines: LineCounter): Yaml {
  const parser = new Parser(lines.addNewLine)
  const tokens = []
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length > maxDepth)
      return { mistakes: [yamlMistake('RESOURCE_EXHAUSTION', parser.offset - 1, text)] }
  }
  tokens.push(...parser.end())
  const [document, another] = new Composer(options).compose(tokens, true, text.length)
  if (document === undefined) throw new Error('Bug: the YAML text has no document.')
  const found = [...document.errors, ...document.warnings].map(({ code, pos: [offset] }) =>
    yamlMistake(code, offset, text),
  )
  if (another !== undefined) found.push(yamlMistake('MULTIPLE_DOCS', another.range[0], text))
  if (document.directives.yaml.version !== '1.2') found.push(yamlMistake('BAD_DIRECTIVE', 0, text))
  return found.length > 0 ? { mistakes: found } : document
}

function yamlMistake(code: ErrorCode, offset: number, text: string): YamlMistake {
  if (offset >= text.trimEnd().length) return { offset, says: `cannot be read as YAML: ${unclosed}.` }
  const sign = /^[\][{},:&*!|>'"%@`#?-]/.exec(text.slice(offset, offset + 1))?.[0]
  const at = sign === undefined ? '' : ` (at ${sign})`
  return { offset, says: `cannot be read as YAML${at}: ${syntax[code]}.` }
}

const unclosed = 'the text ends, but a closing quote, bracket or brace, or a value, is missing'
const noTag = 'a tag (!…) is not allowed; write only the value'

const syntax: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS: 'an alias or an anchor needs a name that does not end with a colon',
  BAD_COLLECTION_TYPE: noTag,
  BAD_DIRECTIVE: 'a directive (%…) is not allowed; remove the line',
  BAD_DQ_ESCAPE: 'in double quotes, \\ begins an escape such as \\n; write \\\\ for a backslash',
  BAD_INDENT: 'this is not indented like the lines it belongs to',
  BAD_PROP_ORDER: 'an anchor must come after the -, ? or : before its value',
  BAD_SCALAR_START: 'a string that begins with this character needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'each key must begin a line, indented like its siblings; quote a string that contains a colon',
  BLOCK_IN_FLOW: 'items between { } or [ ] must be separated by commas',
  DUPLICATE_KEY: 'a key must be unique',
  IMPOSSIBLE: 'this does not belong here',
  KEY_OVER_1024_CHARS: 'a key has at most 1024 characters',
  MISSING_CHAR: 'a colon, comma, space or quote is missing here',
  MULTILINE_IMPLICIT_KEY: 'a key and its colon must be on one line',
  MULTIPLE_ANCHORS: 'a value has at most one anchor',
  MULTIPLE_DOCS: 'a second document begins here; only one is allowed',
  MULTIPLE_TAGS: noTag,
  NON_STRING_KEY: 'a key must be a string',
  RESOURCE_EXHAUSTION: `it is nested deeper than ${maxDepth} levels`,
  TAB_AS_INDENT: 'use spaces for indentation, not tabs',
  TAG_RESOLVE_FAILED: noTag,
  UNEXPECTED_TOKEN: 'this does not belong here, or something is missing before it',
}
