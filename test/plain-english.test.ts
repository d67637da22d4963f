import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'rolldown/utils'
import { expect, test } from 'vitest'

/** Checks the rules in CONTRIBUTING.md#plain-english. The last test proves that each check can fail. */

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(root + path, 'utf8')

const maxWords = 35

/** The checked documents. The changelog is exempt, because its old entries are not rewritten. */
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]

/** The folders whose comments are checked, except for the files in `unchecked`. */
const folders = ['src', 'tools', 'bench', 'test', 'scripts', 'examples']
const unchecked = ['test/plain-english.test.ts']

const forbiddenFirstWords = /^(What|Who|Whose|Whom|Whoever|Whatever|Whichever|Whenever|Which|Where|Those|Of)\b/

/** The folders in which every function's comment must begin with a verb, such as "Returns". */
const verbFolders = ['src', 'tools']

/** Words ending in -s that do not count as verbs: determiners, adverbs, forms of "be" and "have", and plural nouns. */
const notVerbs = /^(?:This|Its|Always|Perhaps|As|Is|Has|Cents|Days|Milliseconds|Seconds|Texts|Words)$/

/** Matches words and phrases that are hard to read and have a plain replacement. */
const unclearWords = new RegExp(
  [
    String.raw`befall\w*|befell|who(?:so|m)?ever|thereof|therein|anew`,
    // Matches "a transaction of its own", but not "a wallet of its own party".
    String.raw`(?<!instead )of (?:one's|its|their) own(?=[.,;:)|]|$|\s+(?:and|or|that|which|in|to|for|on|with|at|by|has|needs)\b)`,
    '(?:kept|keeps?|set|sets|told|tells?|taken|takes?|held) apart',
    '(?:tells?|told|telling) of',
    '(?:stands?|stood) (?:in(?! for)|among|beside|nowhere|elsewhere)',
  ]
    .map((words) => String.raw`\b(?:${words})`)
    .join('|'),
  'i',
)

test(`no sentence in a document has more than ${maxWords} words`, () => {
  const faults = documents.flatMap((path) => longSentences(read(path)).map((sentence) => `${path}: ${sentence}`))
  expect(faults).toEqual([])
})

test('no line of a comment begins with a word such as What or Who', () => {
  const paths = folders.flatMap(sourcesBelow).filter((path) => !unchecked.includes(path))
  expect(paths.length).toBeGreaterThan(300)
  expect(paths.flatMap((path) => badStarts(read(path)).map((comment) => `${path}: ${comment}`))).toEqual([])
})

test('every comment on a function begins with a verb in the third person', () => {
  const comments = verbFolders
    .flatMap(scriptsBelow)
    .flatMap((path) => functionComments(path, read(path)).map((comment) => ({ path, comment })))
  expect(comments.length).toBeGreaterThan(2_000)
  expect(comments.flatMap(({ path, comment }) => (beginsWithVerb(comment) ? [] : [`${path}: ${comment}`]))).toEqual([])
})

test('comments and documents contain none of the words that are hard to read', () => {
  const paths = folders.flatMap(scriptsBelow).filter((path) => !unchecked.includes(path))
  const comments = paths.flatMap((path) => commentsOf(path, read(path)).map(({ text }) => `${path}: ${text}`))
  const paragraphs = documents.flatMap((path) =>
    paragraphsOf(read(path)).map((text) => `${path}: ${text.replace(/“[^”]*”/g, '')}`),
  )
  expect([...comments, ...paragraphs].filter((text) => unclearWords.test(text))).toEqual([])
})

test('the checks report bad samples and accept good ones', () => {
  const comments = (source: string) => functionComments('sample.ts', source)
  const samples = [
    '/** The sum. */\nexport function sum() {}',
    '/**\n * @param a a number\n */\nconst sum = (a: number) => a',
    'class Sums {\n  /** What is left. */\n  async rest() {}\n}',
    'interface Clock {\n  /** Milliseconds. */\n  now(): number\n}',
    'const clock = {\n  /** This is the time. */\n  now: () => 0,\n}',
  ]
  for (const sample of samples) expect(comments(sample).filter((comment) => !beginsWithVerb(comment))).toHaveLength(1)
  const good =
    '/** Returns the sum. */\nfunction sum() {}\n/** The sums. */\nconst sums = [1]\n/** A sum. */\nclass Sum {}'
  expect(comments(good)).toEqual(['Returns the sum.'])
  const unclear = [
    'whoever asks',
    'sealed anew',
    'has a clock of its own.',
    'are kept apart',
    'it tells of calls',
    'stands in front',
  ]
  for (const words of unclear) expect(unclearWords.test(words)).toBe(true)
  for (const words of ['a wallet of its own party', 'stand in for two', 'a part'])
    expect(unclearWords.test(words)).toBe(false)
  expect(commentsOf('sample.ts', 'const a = 1 // Whoever.\nconst b = "// anew"').map(({ text }) => text)).toEqual([
    'Whoever.',
  ])

  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')
  expect(longSentences(`${words(35)}. ${words(35)}: ${words(1)}.`)).toEqual([`${words(35)}: ${words(1)}.`])
  expect(longSentences(`| ${words(30)} | ${words(30)} |\n| ${words(36)} | |`)).toEqual([words(36)])
  expect(longSentences(`- ${words(30)}\n- ${words(30)}\n\n\`\`\`sh\n${words(40)}\n\`\`\``)).toEqual([])
  expect(longSentences(`[${words(35)}](${words(9)}) \`${words(9)}\``)).toHaveLength(1)
  expect(badStarts('/** Whole cents. */\ncall() // Who'.concat(' calls.'))).toEqual(['Who calls.'])
  expect(badStarts('/**\n * Returns it.\n * What it costs.\n */')).toEqual(['What it costs.'])
})

/** Returns the sentences with too many words. A link's URL does not count, and inline code counts as one word. */
function longSentences(markdown: string): string[] {
  return paragraphsOf(markdown)
    .flatMap((block) => block.split(/(?<=[.!?][”"')*]*) /))
    .filter((sentence) => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length > maxWords)
}

/** Returns the paragraphs, list items and table cells of a document. */
function paragraphsOf(markdown: string): string[] {
  return markdown
    .replace(/^( *)```[\s\S]*?^\1```$/gm, '\n')
    .replace(/<!--[\s\S]*?-->/g, '\n')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`]*`/g, 'code')
    .replace(/("[\w.]+", )+/g, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*>|#]|\d+\.) ?)|(?<!\\)\|/)
    .map((block) =>
      block
        .replace(/^\s*(?:[-*>]|#+|\d+\.) /, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
}

/** Returns each line of a comment that begins with a word such as "What", without the comment marks. */
function badStarts(source: string): string[] {
  return [...source.matchAll(/(?:^|\s)(?:\/\/|\/\*\*?|\*) +(.*)$/gm)]
    .map(([, comment = '']) => comment)
    .filter((comment) => forbiddenFirstWords.test(comment))
}

interface Comment {
  text: string
  end: number
  isDoc: boolean
}

/** Returns the comments of a script, without the comment marks and line breaks. */
function commentsOf(path: string, source: string): Comment[] {
  return parseSync(path, source).comments.map(({ type, value, end }) => {
    const text = value
      .replace(/^\*/, '')
      .replace(/^\s*\* ?/gm, ' ')
      .replace(/\s+/g, ' ')
      .trim()
    return { text, end, isDoc: type === 'Block' && value.startsWith('*') }
  })
}

/** Returns the doc comments of functions and methods. */
function functionComments(path: string, source: string): string[] {
  const starts = new Set<number>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, start } = node as { type?: string; start?: number }
    if (type !== undefined && start !== undefined && isFunction(node as SyntaxNode)) starts.add(start)
    for (const inner of Object.values(node)) visit(inner)
  }
  visit(parseSync(path, source).program)
  return commentsOf(path, source)
    .filter(({ end, isDoc }) => isDoc && starts.has(end + (/^\s*/.exec(source.slice(end))?.[0].length ?? 0)))
    .map(({ text }) => text)
}

interface SyntaxNode {
  type: string
  kind?: string
  value?: SyntaxNode | null
  init?: SyntaxNode | null
  declaration?: SyntaxNode | null
  declarations?: SyntaxNode[]
}

function isFunction({ type, kind, value, declaration, declarations }: SyntaxNode): boolean {
  if (declaration && /^Export/.test(type)) return isFunction(declaration)
  const holdsFunction = (node: SyntaxNode | null | undefined) => /^(?:Arrow)?Function/.test(node?.type ?? '')
  if (type === 'VariableDeclaration') return holdsFunction(declarations?.[0]?.init)
  if (type === 'Property' || type === 'PropertyDefinition') return holdsFunction(value)
  if (type === 'MethodDefinition') return kind === 'method'
  return /^(?:FunctionDeclaration|TSDeclareFunction|TSMethodSignature|TSAbstractMethodDefinition)$/.test(type)
}

/** Returns whether the first word looks like a verb such as "Returns" or "Re-reads". */
function beginsWithVerb(comment: string): boolean {
  const [word = ''] = comment.split(/[\s,;:.]/)
  return /^[A-Z][a-z]*(?:-?[a-z]+)?s$/.test(word) && !notVerbs.test(word)
}

function scriptsBelow(folder: string): string[] {
  return sourcesBelow(folder).filter((path) => !path.endsWith('.css'))
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : sourcesBelow(path)
    return /\.(?:[cm]?[jt]s|css)$/.test(path) ? [path] : []
  })
}
