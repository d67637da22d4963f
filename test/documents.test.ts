import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { settings } from '../src/config/settings.ts'
import { catalogue } from '../tools/index.ts'

/** Checks the references between documents and code. Each check proves on a bad sample that it can fail. */

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(root + path, 'utf8')

const rulesPath = 'docs/service.md'
const testsPath = 'test/service-rules.yaml'
/** The documents written by hand. The changelog may refer to files that no longer exist. */
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]

describe('the rules of docs/service.md', () => {
  const rules = rulesOf(read(rulesPath))
  const texts = new Map<string, string>()
  const testText = (file: string) => {
    const text = texts.get(file) ?? (existsSync(root + file) ? read(file) : '')
    texts.set(file, text)
    return text
  }

  it('are each checked by tests that exist', () => {
    expect(rules.length).toBeGreaterThan(50)
    expect(untested(rules, parse(read(testsPath)), testText)).toEqual([])
  })

  it('exist for every reference in the code', () => {
    const anchors = new Set(rules)
    const code = ['src', 'tools', 'test', 'bench', 'scripts']
      .flatMap(filesBelow)
      .filter((path) => !path.includes('.snap'))
    const faults = code.flatMap((path) => lostReferences(read(path), anchors).map((fault) => `${path} ${fault}`))
    expect(faults).toEqual([])
  })

  it('can fail', () => {
    const headings = rulesOf(['### Tested rule', 'Text.', '### Bare rule', '### Wrong', ''].join('\n'))
    const tests = {
      'tested-rule': { 'a/b': ['works'] },
      wrong: { 'a/b': ['works', 'fails'], 'a/none': [] },
      gone: { 'a/b': [] },
    }
    const texts = (file: string) => (file === 'test/a/b.test.ts' ? "it('works', () => {})" : '')
    expect(untested(headings, tests, texts)).toEqual([
      '#bare-rule has no test',
      '#gone is not a rule',
      '#wrong names a test “fails” that test/a/b.test.ts does not have',
      '#wrong names test/a/none.test.ts, which does not exist',
    ])
    const anchors = new Set(['tested-rule'])
    const document = ['docs', 'service.md'].join('/')
    expect(lostReferences(`(${document}#tested-rule)`, anchors)).toEqual([])
    expect(lostReferences(`(${document}#tested-rule and #other)`, anchors)).toEqual([
      'names the rule #other, which does not exist',
    ])
    expect(lostReferences(`(sp${'ec'}: Errors)`, anchors)).toEqual(['names a text that is not in this repository'])
  })
})

describe('names in documents', () => {
  it('exist', () => {
    expect(documents.flatMap((path) => lost(read(path), path, exists).map((fault) => `${path} ${fault}`))).toEqual([])
  })

  it('are in the package if README.md links to them', () => {
    const { files } = JSON.parse(read('package.json')) as { files: string[] }
    const linked = [...read('README.md').matchAll(/\]\((?!\w+:)([^)#]+)/g)].map(([, path = '']) => path)
    expect(linked.length).toBeGreaterThan(5)
    expect(linked.filter((path) => !files.includes(path.split('/')[0] ?? ''))).toEqual([])
  })

  it('can fail', () => {
    const fileExists = (path: string) => ['src/cli.ts', 'docs/time.md'].includes(path)
    const text =
      'See `src/cli.ts`, `src/gone.ts`, [time](time.md), [more](more.md) and [here](#a-heading).\n\n## A heading\n'
    expect(lost(text, 'docs/a.md', fileExists)).toEqual(['names src/gone.ts', 'links to docs/more.md'])
    expect(lost('[away](#nowhere)', 'docs/a.md', fileExists)).toEqual(['links to #nowhere'])
  })

  it('CONTRIBUTING.md quotes code exactly as it is in the named files', () => {
    const samples = samplesOf(read('CONTRIBUTING.md'))
    expect(samples.length).toBeGreaterThan(1)
    expect(samples.flatMap((sample) => changed(sample, read))).toEqual([])
    const [sample] = samplesOf('One, from `src/a.ts`:\n\n```ts\nconst a = 1\n\nconst b = 2\n```\n')
    expect(sample && changed(sample, () => 'const a = 1\n\nconst c = 3\n\nconst b = 2\n')).toEqual([])
    expect(sample && changed(sample, () => 'const a = 1\n')).toEqual(['src/a.ts no longer has: const b = 2'])
  })

  it('README.md has at most 150 lines', () => {
    expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
  })

  it('CHANGELOG.md names every tool and setting', () => {
    const changelog = read('CHANGELOG.md')
    const names = [...Object.values(catalogue).map(({ name }) => name), ...settings.map(({ variable }) => variable)]
    expect(names.filter((name) => !changelog.includes(`\`${name}\``))).toEqual([])
  })
})

/** The tests of each rule: titles by file of `test/`, by the anchor of the rule. A file without titles counts whole. */
type RuleTests = Record<string, Record<string, string[]>>

/** Returns the anchors that GitHub gives the headings of the rules. */
function rulesOf(text: string): string[] {
  return text
    .split(/^### /m)
    .slice(1)
    .map((section) => anchorOf(section.slice(0, section.indexOf('\n'))))
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function untested(rules: string[], tests: RuleTests, textOf: (file: string) => string): string[] {
  const bare = rules.flatMap((anchor) =>
    Object.keys(tests[anchor] ?? {}).length > 0 ? [] : [`#${anchor} has no test`],
  )
  const gone = Object.keys(tests).flatMap((anchor) => (rules.includes(anchor) ? [] : [`#${anchor} is not a rule`]))
  const lost = Object.entries(tests).flatMap(([anchor, files]) =>
    Object.entries(files).flatMap(([name, titles]) => {
      const file = `test/${name}.test.ts`
      const text = textOf(file)
      if (text === '') return [`#${anchor} names ${file}, which does not exist`]
      const missing = titles.filter((title) => !["'", '"', '`'].some((quote) => text.includes(quote + title + quote)))
      return missing.map((title) => `#${anchor} names a test “${title}” that ${file} does not have`)
    }),
  )
  return [...bare, ...gone, ...lost]
}

function lostReferences(text: string, anchors: ReadonlySet<string>): string[] {
  return [
    ...[...text.matchAll(/docs\/service\.md(#[\w-]+(?:(?:, | and )#[\w-]+)*)/g)]
      .flatMap(([, named = '']) => named.match(/[\w-]{4,}/g) ?? [])
      .flatMap((anchor) => (anchors.has(anchor) ? [] : [`names the rule #${anchor}, which does not exist`])),
    ...(/[(]spec\b/.test(text) ? ['names a text that is not in this repository'] : []),
  ]
}

/** A block of code in a document, and the path of the file that it comes from. */
interface Sample {
  path: string
  code: string
}

function samplesOf(text: string): Sample[] {
  return [...text.matchAll(/from `([\w./-]+)`:\n\n```ts\n(.*?)\n```/gs)].map(([, path = '', code = '']) => ({
    path,
    code,
  }))
}

/** Returns the paragraphs of a sample that its file no longer has. */
function changed({ path, code }: Sample, textOf: (path: string) => string): string[] {
  return code.split('\n\n').flatMap((part) => (textOf(path).includes(part) ? [] : [`${path} no longer has: ${part}`]))
}

/** Returns a document's paths in backticks and relative links that lead nowhere. */
function lost(text: string, path: string, fileExists: (path: string) => boolean): string[] {
  const named = [...text.matchAll(/`((?:src|tools|test|docs|scripts|bench)\/[\w./-]+)`/g)].map(([, name = '']) => name)
  const links = [...text.matchAll(/\]\((?!\w+:)([^)\s]*)\)/g)].map(([, link = '']) => link)
  return [
    ...named.filter((name) => !fileExists(name)).map((name) => `names ${name}`),
    ...links.flatMap((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : posix.join(posix.dirname(path), file)
      if (file !== '' && !fileExists(target)) return [`links to ${target}`]
      const targetText = file === '' ? text : target.endsWith('.md') && exists(target) ? read(target) : undefined
      const headings = targetText?.matchAll(/^#+ (.*)$/gm).map(([, heading = '']) => anchorOf(heading))
      return anchor === undefined || headings?.some((heading) => heading === anchor) ? [] : [`links to ${link}`]
    }),
  ]
}

function exists(path: string): boolean {
  return existsSync(root + path)
}

function filesBelow(folder: string): string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return []
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
}
