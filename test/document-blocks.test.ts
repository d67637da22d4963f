import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse as parseToml } from '@decimalturn/toml-patch'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { settings } from '../src/config/settings.ts'

/**
 * Checks that every fenced block of the documents is run or read by a test, or listed with the reason why no test can
 * run it.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(root + path, 'utf8')

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  ...readdirSync(`${root}examples`).map((name) => `examples/${name}/README.md`),
]

interface Block {
  document: string
  language: string
  text: string
}

const blocks: Block[] = documents.flatMap((document) =>
  [...read(document).matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', text = '']) => {
      return { document, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
    },
  ),
)
const blocksIn = (language: string) => blocks.filter((block) => block.language === language)

/**
 * The tests that run or compare blocks. Each key is a document and a language. Each value is a path in `test/`, without
 * `.test.ts`.
 */
const testOfBlocks: Readonly<Record<string, string>> = {
  'README.md ts': 'packaging/examples',
  'README.md text': 'mcp/readme',
  'CONTRIBUTING.md ts': 'documents',
  // The examples in docs/api.md come from the doc comments in the code.
  'docs/api.md ts': 'packaging/examples',
  'docs/quickstart.md js': 'commands/quick-start',
  'docs/quickstart.md python': 'commands/quick-start',
  'docs/rehearse.md js': 'hosts/rehearsal',
  'docs/rehearse.md text': 'rehearse/load-scenarios',
  'docs/sandbox.md text': 'worlds/schema',
  'docs/scaling.md sql': 'store/scaling',
  'docs/testing.md ts': 'packaging/examples',
}

/** The reasons why no test runs the other blocks, by document and language. */
const reasonNotRun: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md text': 'contains only drawings',
  'docs/sandbox.md html': 'needs a page of another site; test/pages/library.test.ts has a similar page',
  'docs/simulate.md text': 'contains measured times, which differ in every run',
  'docs/webhooks.md js': "needs the user's own endpoint; test/webhooks verifies with the same package",
  'docs/webhooks.md python': 'needs Flask and the package standardwebhooks',
}

/** For each program in the shell blocks, the test that covers it, or the reason why no test runs it. */
const programs: Readonly<Record<string, string>> = {
  npm: 'a test below checks that the scripts exist',
  'payments-mcp': 'a test below checks that the commands and flags exist',
  'node_modules/.bin/node': 'a test below checks that the commands and flags exist',
  call: 'test/commands/documented-requests.test.ts, test/faults/examples.test.ts',
  curl: 'test/commands/documented-requests.test.ts; other calls need a deployed API or a browser',
  claude: 'needs an account; test/hosts/recipes.test.ts runs it with a scripted model',
  copilot: 'needs an account',
  npx: 'test/hosts runs the inspector',
  docker: 'needs Docker; test/packaging/deployment.test.ts reads the files',
  sqlite3: 'test/resilience/backup.test.ts',
  pg_dump: 'test/resilience/backup.test.ts',
  pg_restore: 'test/resilience/backup.test.ts',
  createdb: 'test/resilience/backup.test.ts',
  systemctl: 'needs systemd',
  open: 'needs a browser',
  python3: 'test/packaging/examples.test.ts',
  ...Object.fromEntries(
    ['cp', 'rm', 'cd', 'rand', 'install'].map((name) => [name, 'used only as a part of another command']),
  ),
}

/** Returns the commands of a shell block. Omits comments, function definitions and the contents of quoted strings. */
function commandsIn({ text }: Block): string[] {
  return text
    .replace(/^\w+\(\) \{[\s\S]*?^\}\n/gm, '')
    .replaceAll('\\\n', ' ')
    .replace(/'[^']*'|"[^"]*"/g, "''")
    .split('\n')
    .flatMap((line) => line.replace(/#.*$/, '').split(/&&|\|\|?|;/))
    .map((command) => command.trim().replace(/^\(|^(?:(?:export|sudo|exec) +)*(?:\w+=\S* *)*/, ''))
    .filter((command) => command !== '')
}

test('every block other than sh, JSON, YAML and TOML is listed with its test or the reason why it has none', () => {
  const checkedHere = ['sh', 'json', 'yaml', 'toml']
  const kinds = new Set(blocks.map(({ document, language }) => `${document} ${language}`))
  const others = [...kinds].filter((kind) => !checkedHere.includes(kind.split(' ')[1] ?? ''))
  expect(others.toSorted()).toEqual([...Object.keys(testOfBlocks), ...Object.keys(reasonNotRun)].toSorted())
  for (const [kind, name] of Object.entries(testOfBlocks)) {
    const path = `test/${name}.test.ts`
    expect(existsSync(root + path), path).toBe(true)
    const document = kind.split(' ')[0]?.split('/').at(-1) ?? ''
    if (document !== 'api.md') expect(read(path), kind).toContain(document)
  }
})

test('every shell block has valid syntax and calls only listed programs', () => {
  expect(blocksIn('sh').length).toBeGreaterThan(30)
  const invalidBlocks = blocksIn('sh').filter(({ text }) => spawnSync('bash', ['-n'], { input: text }).status !== 0)
  expect(invalidBlocks.map(({ document, text }) => `${document}: ${text}`)).toEqual([])
  expect(spawnSync('bash', ['-n'], { input: 'if true; do' }).status).not.toBe(0)
  const called = new Set(
    blocksIn('sh').flatMap((block) => commandsIn(block).map((command) => command.split(' ')[0] ?? '')),
  )
  expect([...called].toSorted()).toEqual(Object.keys(programs).toSorted())
})

test('every npm script, command and flag in a shell block exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const declared = read('src/commands/main.ts') + read('src/rehearse/options.ts') + read('src/simulate/options.ts')
  const commands = [...declared.matchAll(/\.command\('([\w-]+)'\)/g)].map(([, name]) => name)
  const flags = [...declared.matchAll(/(?:ption\(|\[\s*)'(--[a-z-]+)/g)].map(([, flag]) => flag)
  const knownWords = [...commands, ...flags, ...settings.map(({ flag }) => flag), '--help', '--version']
  const faults: string[] = []
  for (const block of blocksIn('sh')) {
    for (const command of commandsIn(block)) {
      const script = /^npm run ([\w:-]+)/.exec(command)?.[1]
      if (script !== undefined && scripts[script] === undefined) faults.push(`${block.document}: npm run ${script}`)
      const ownCommand = /^(?:payments-mcp|node_modules\/\.bin\/node src\/cli\.ts)\s+([\s\S]*)$/.exec(command)?.[1]
      const words = ownCommand?.match(/^[a-z-]+|(?<= )--[a-z-]+/g) ?? []
      for (const word of words) if (!knownWords.includes(word)) faults.push(`${block.document}: payments-mcp … ${word}`)
    }
  }
  expect(faults).toEqual([])
})

test('every JSON, YAML and TOML block can be parsed', () => {
  const faults = blocks.flatMap(({ document, language, text }) => {
    try {
      if (language === 'json') for (const value of text.trim().split(/\n(?=\{)/)) JSON.parse(value)
      if (language === 'toml') parseToml(text)
      if (language === 'yaml')
        for (const { errors } of parseAllDocuments(text, { merge: true })) if (errors[0]) throw errors[0]
      return []
    } catch (error) {
      return [`${document}: ${String(error)}: ${text.slice(0, 200)}`]
    }
  })
  expect(faults).toEqual([])
})

test('every version of payments-mcp in a document or manifest is that of package.json', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string
    packages: Record<string, { version: string }>
  }
  expect([lock.version, lock.packages['']?.version]).toEqual([version, version])
  const versions = [...documents, 'manifest.json', 'server.json', 'Dockerfile', 'compose.yaml'].flatMap((path) =>
    path === 'CHANGELOG.md'
      ? []
      : [...read(path).matchAll(/payments-mcp[-@:](\d+\.\d+\.\d+)|^ *"version": "([^"]+)"/gm)].map(([, one, other]) => [
          path,
          one ?? other,
        ]),
  )
  expect(versions.length).toBeGreaterThan(3)
  expect(versions.filter(([, found]) => found !== version)).toEqual([])
})
