import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** The rules for texts (CONTRIBUTING.md#plain-english). Each check proves on a bad sample that it can fail. */

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(root + path, 'utf8')

const longestSentence = 35

/** The changelog is a record of earlier texts. */
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]

/** The folders whose comments are checked, without those of `unchecked`. */
const folders = ['src', 'tools', 'bench', 'test', 'scripts', 'examples']
const unchecked = ['test/plain-english.test.ts']

const firstWords = /^(What|Who|Whose|Whom|Whoever|Whatever|Whichever|Whenever|Which|Where|Those|Of)\b/

test(`a sentence of a document has at most ${longestSentence} words`, () => {
  const faults = documents.flatMap((path) => tooLong(read(path)).map((sentence) => `${path}: ${sentence}`))
  expect(faults).toEqual([])
})

test('no comment begins with What, Who or the like', () => {
  const paths = folders.flatMap(sourcesBelow).filter((path) => !unchecked.some((start) => path.startsWith(start)))
  expect(paths.length).toBeGreaterThan(300)
  expect(paths.flatMap((path) => riddles(read(path)).map((comment) => `${path}: ${comment}`))).toEqual([])
})

test('the checks can fail', () => {
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')
  expect(tooLong(`${words(35)}. ${words(35)}: ${words(1)}.`)).toEqual([`${words(35)}: ${words(1)}.`])
  expect(tooLong(`| ${words(30)} | ${words(30)} |\n| ${words(36)} | |`)).toEqual([words(36)])
  expect(tooLong(`- ${words(30)}\n- ${words(30)}\n\n\`\`\`sh\n${words(40)}\n\`\`\``)).toEqual([])
  expect(tooLong(`[${words(35)}](${words(9)}) \`${words(9)}\``)).toHaveLength(1)
  expect(riddles('/** Whole cents. */\ncall() // Who'.concat(' calls.'))).toEqual(['Who calls.'])
  expect(riddles('/**\n * Returns it.\n * What it costs.\n */')).toEqual(['What it costs.'])
})

/** Returns the sentences with too many words. A link counts as its text, code as one word; lists of tests don't count. */
function tooLong(markdown: string): string[] {
  return markdown
    .replace(/^( *)```[\s\S]*?^\1```$/gm, '\n')
    .replace(/<!--[\s\S]*?-->|^> Held by .*$/gm, '\n')
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
    .flatMap((block) => block.split(/(?<=[.!?][”"')*]*) /))
    .filter((sentence) => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length > longestSentence)
}

/** Returns the comments, from their first word on, that begin with a word a reader has to resolve. */
function riddles(source: string): string[] {
  return [...source.matchAll(/(?:^|\s)(?:\/\/|\/\*\*?|\*) +(.*)$/gm)]
    .map(([, comment = '']) => comment)
    .filter((comment) => firstWords.test(comment))
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : sourcesBelow(path)
    return /\.(?:[cm]?[jt]s|css)$/.test(path) ? [path] : []
  })
}
