import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { settings } from '../src/config/settings.ts'
import { catalogue } from '../tools/index.ts'

/** Checks the references between documents and code. Faulty samples prove that each check can fail. */

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(root + path, 'utf8')

const rulesPath = 'docs/service.md'
const testsPath = 'test/service-rules.yaml'
/** All documents except the changelog, which may refer to files that no longer exist. */
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]

describe('rules of docs/service.md', () => {
  const rules = rulesOf(read(rulesPath))
  const texts = new Map<string, string>()
  const testText = (file: string) => {
    const text = texts.get(file) ?? (existsSync(root + file) ? read(file) : '')
    texts.set(file, text)
    return text
  }

  it('every rule is checked by tests that exist', () => {
    expect(rules.length).toBeGreaterThan(50)
    expect(faultsInRuleTests(rules, parse(read(testsPath)), testText)).toEqual([])
  })

  it('every rule to which the code refers exists', () => {
    const anchors = new Set(rules)
    const code = ['src', 'tools', 'test', 'bench', 'scripts']
      .flatMap(filesBelow)
      .filter((path) => !path.includes('.snap'))
    const faults = code.flatMap((path) => unknownRuleReferences(read(path), anchors).map((fault) => `${path} ${fault}`))
    expect(faults).toEqual([])
  })

  it('the check finds rules without tests, and references to missing rules, tests and files', () => {
    const headings = rulesOf(['### Tested rule', 'Text.', '### Bare rule', '### Wrong', ''].join('\n'))
    const tests = {
      'tested-rule': { 'a/b': ['works'] },
      wrong: { 'a/b': ['works', 'fails'], 'a/none': [] },
      gone: { 'a/b': [] },
    }
    const texts = (file: string) => (file === 'test/a/b.test.ts' ? "it('works', () => {})" : '')
    expect(faultsInRuleTests(headings, tests, texts)).toEqual([
      '#bare-rule has no test',
      '#gone is not a rule',
      '#wrong lists the test “fails”, which test/a/b.test.ts does not have',
      '#wrong lists test/a/none.test.ts, which does not exist',
    ])
    const anchors = new Set(['tested-rule'])
    const document = ['docs', 'service.md'].join('/')
    expect(unknownRuleReferences(`(${document}#tested-rule)`, anchors)).toEqual([])
    expect(unknownRuleReferences(`(${document}#tested-rule and #other)`, anchors)).toEqual([
      'refers to the rule #other, which does not exist',
    ])
    expect(unknownRuleReferences(`(sp${'ec'}: Errors)`, anchors)).toEqual([
      'refers to a document that is not in this repository',
    ])
  })
})

describe('references in documents', () => {
  it('every file and heading to which a document refers exists', () => {
    expect(
      documents.flatMap((path) => brokenReferences(read(path), path, exists).map((fault) => `${path} ${fault}`)),
    ).toEqual([])
  })

  it('every file to which README.md links is in the package', () => {
    const { files } = JSON.parse(read('package.json')) as { files: string[] }
    const linked = [...read('README.md').matchAll(/\]\((?!\w+:)([^)#]+)/g)].map(([, path = '']) => path)
    expect(linked.length).toBeGreaterThan(5)
    expect(linked.filter((path) => !files.includes(path.split('/')[0] ?? ''))).toEqual([])
  })

  it('the check finds references to missing files and headings', () => {
    const fileExists = (path: string) => ['src/cli.ts', 'docs/time.md'].includes(path)
    const text =
      'See `src/cli.ts`, `src/gone.ts`, [time](time.md), [more](more.md) and [here](#a-heading).\n\n## A heading\n'
    expect(brokenReferences(text, 'docs/a.md', fileExists)).toEqual(['mentions src/gone.ts', 'links to docs/more.md'])
    expect(brokenReferences('[away](#nowhere)', 'docs/a.md', fileExists)).toEqual(['links to #nowhere'])
  })

  it('CONTRIBUTING.md quotes code exactly as it is in the source files', () => {
    const samples = samplesOf(read('CONTRIBUTING.md'))
    expect(samples.length).toBeGreaterThan(1)
    expect(samples.flatMap((sample) => missingParagraphs(sample, read))).toEqual([])
    const [sample] = samplesOf('One, from `src/a.ts`:\n\n```ts\nconst a = 1\n\nconst b = 2\n```\n')
    expect(sample && missingParagraphs(sample, () => 'const a = 1\n\nconst c = 3\n\nconst b = 2\n')).toEqual([])
    expect(sample && missingParagraphs(sample, () => 'const a = 1\n')).toEqual([
      'src/a.ts no longer contains: const b = 2',
    ])
  })

  it('README.md has at most 150 lines', () => {
    expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
  })

  it('CHANGELOG.md mentions every tool and setting', () => {
    const changelog = read('CHANGELOG.md')
    const names = [...Object.values(catalogue).map(({ name }) => name), ...settings.map(({ variable }) => variable)]
    expect(names.filter((name) => !changelog.includes(`\`${name}\``))).toEqual([])
  })
})

/**
 * The tests of each rule. The outer keys are the anchors of rules, and the inner keys are paths in `test/` without
 * `.test.ts`. The values are titles of tests; an empty list means all tests of the file.
 */
type RuleTests = Record<string, Record<string, string[]>>

/** Returns the anchors that GitHub creates for the headings of the rules. */
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

function faultsInRuleTests(rules: string[], tests: RuleTests, textOf: (file: string) => string): string[] {
  const rulesWithoutTests = rules.flatMap((anchor) =>
    Object.keys(tests[anchor] ?? {}).length > 0 ? [] : [`#${anchor} has no test`],
  )
  const unknownRules = Object.keys(tests).flatMap((anchor) =>
    rules.includes(anchor) ? [] : [`#${anchor} is not a rule`],
  )
  const missingTests = Object.entries(tests).flatMap(([anchor, files]) =>
    Object.entries(files).flatMap(([name, titles]) => {
      const file = `test/${name}.test.ts`
      const text = textOf(file)
      if (text === '') return [`#${anchor} lists ${file}, which does not exist`]
      const missing = titles.filter((title) => !["'", '"', '`'].some((quote) => text.includes(quote + title + quote)))
      return missing.map((title) => `#${anchor} lists the test “${title}”, which ${file} does not have`)
    }),
  )
  return [...rulesWithoutTests, ...unknownRules, ...missingTests]
}

function unknownRuleReferences(text: string, anchors: ReadonlySet<string>): string[] {
  return [
    ...[...text.matchAll(/docs\/service\.md(#[\w-]+(?:(?:, | and )#[\w-]+)*)/g)]
      .flatMap(([, named = '']) => named.match(/[\w-]{4,}/g) ?? [])
      .flatMap((anchor) => (anchors.has(anchor) ? [] : [`refers to the rule #${anchor}, which does not exist`])),
    ...(/[(]spec\b/.test(text) ? ['refers to a document that is not in this repository'] : []),
  ]
}

/** A block of code in a document, and the path of the source file that it quotes. */
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

/** Lists the paragraphs of a sample that the source file no longer contains. */
function missingParagraphs({ path, code }: Sample, textOf: (path: string) => string): string[] {
  return code
    .split('\n\n')
    .flatMap((part) => (textOf(path).includes(part) ? [] : [`${path} no longer contains: ${part}`]))
}

/**
 * Lists the broken references of a document. A reference is a path in backticks or a relative link. It is broken if the
 * file or heading that it names does not exist.
 */
function brokenReferences(text: string, path: string, fileExists: (path: string) => boolean): string[] {
  const named = [...text.matchAll(/`((?:src|tools|test|docs|scripts|bench)\/[\w./-]+)`/g)].map(([, name = '']) => name)
  const links = [...text.matchAll(/\]\((?!\w+:)([^)\s]*)\)/g)].map(([, link = '']) => link)
  return [
    ...named.filter((name) => !fileExists(name)).map((name) => `mentions ${name}`),
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
