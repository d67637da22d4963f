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
  place: string
  language: string
  text: string
}

const blocks: Block[] = documents.flatMap((document) =>
  [...read(document).matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', text = '']) => {
      return { place: document, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
    },
  ),
)
const of = (language: string) => blocks.filter((block) => block.language === language)

/** Programs and drawings, by document and language, with the test that runs or compares them. */
const runBy: Readonly<Record<string, string>> = {
  'README.md ts': 'packaging/examples',
  'README.md text': 'mcp/readme',
  'CONTRIBUTING.md ts': 'documents',
  // Its examples are those of the doc comments.
  'docs/api.md ts': 'packaging/examples',
  'docs/quickstart.md js': 'commands/quick-start',
  'docs/quickstart.md python': 'commands/quick-start',
  'docs/rehearse.md js': 'hosts/rehearsal',
  'docs/rehearse.md text': 'rehearse/load-scenarios',
  'docs/sandbox.md text': 'worlds/schema',
  'docs/scaling.md sql': 'store/scaling',
  'docs/testing.md ts': 'packaging/examples',
}

/** Blocks that no test runs, each with the reason. */
const notRun: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md text': 'drawings',
  'docs/sandbox.md html': 'needs a page of another site; test/pages/library.test.ts has one like it',
  'docs/simulate.md text': 'contains times, so it needs its own clock',
  'docs/webhooks.md js': 'needs an endpoint of the reader; test/webhooks verifies with the same package',
  'docs/webhooks.md python': 'needs Flask and its package',
}

/** The programs that shell blocks call, each with the test that runs it, or the reason why none does. */
const programs: Readonly<Record<string, string>> = {
  npm: 'the scripts exist, below',
  'payments-mcp': 'the commands and flags exist, below',
  'node_modules/.bin/node': 'the commands and flags exist, below',
  call: 'test/commands/documented-requests.test.ts, test/faults/examples.test.ts',
  curl: 'test/commands/documented-requests.test.ts; others need a deployed API or a browser',
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
  ...Object.fromEntries(['cp', 'rm', 'cd', 'rand', 'install'].map((name) => [name, 'a part of another command'])),
}

/** Returns the commands of a shell block without comments, quoted texts and definitions. */
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

test('every program, drawing and table in a document is run by an existing test or listed as not run', () => {
  const checkedHere = ['sh', 'json', 'yaml', 'toml']
  const kinds = new Set(blocks.map(({ place, language }) => `${place} ${language}`))
  const others = [...kinds].filter((kind) => !checkedHere.includes(kind.split(' ')[1] ?? ''))
  expect(others.toSorted()).toEqual([...Object.keys(runBy), ...Object.keys(notRun)].toSorted())
  for (const [kind, name] of Object.entries(runBy)) {
    const path = `test/${name}.test.ts`
    expect(existsSync(root + path), path).toBe(true)
    const document = kind.split(' ')[0]?.split('/').at(-1) ?? ''
    if (document !== 'api.md') expect(read(path), kind).toContain(document)
  }
})

test('every shell block can be read by a shell, and calls programs that are listed', () => {
  expect(of('sh').length).toBeGreaterThan(30)
  const unread = of('sh').filter(({ text }) => spawnSync('bash', ['-n'], { input: text }).status !== 0)
  expect(unread.map(({ place, text }) => `${place}: ${text}`)).toEqual([])
  expect(spawnSync('bash', ['-n'], { input: 'if true; do' }).status).not.toBe(0)
  const called = new Set(of('sh').flatMap((block) => commandsIn(block).map((command) => command.split(' ')[0] ?? '')))
  expect([...called].toSorted()).toEqual(Object.keys(programs).toSorted())
})

test('every npm script, command and flag in a shell block exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const declared = read('src/commands/main.ts') + read('src/rehearse/options.ts') + read('src/simulate/options.ts')
  const commands = [...declared.matchAll(/\.command\('([\w-]+)'\)/g)].map(([, name]) => name)
  const flags = [...declared.matchAll(/(?:ption\(|\[\s*)'(--[a-z-]+)/g)].map(([, flag]) => flag)
  const knownWords = [...commands, ...flags, ...settings.map(({ flag }) => flag), '--help', '--version']
  const faults: string[] = []
  for (const block of of('sh')) {
    for (const command of commandsIn(block)) {
      const script = /^npm run ([\w:-]+)/.exec(command)?.[1]
      if (script !== undefined && scripts[script] === undefined) faults.push(`${block.place}: npm run ${script}`)
      const ownCommand = /^(?:payments-mcp|node_modules\/\.bin\/node src\/cli\.ts)\s+([\s\S]*)$/.exec(command)?.[1]
      const words = ownCommand?.match(/^[a-z-]+|(?<= )--[a-z-]+/g) ?? []
      for (const word of words) if (!knownWords.includes(word)) faults.push(`${block.place}: payments-mcp … ${word}`)
    }
  }
  expect(faults).toEqual([])
})

test('every JSON, YAML and TOML block can be parsed', () => {
  const faults = blocks.flatMap(({ place, language, text }) => {
    try {
      if (language === 'json') for (const value of text.trim().split(/\n(?=\{)/)) JSON.parse(value)
      if (language === 'toml') parseToml(text)
      if (language === 'yaml')
        for (const { errors } of parseAllDocuments(text, { merge: true })) if (errors[0]) throw errors[0]
      return []
    } catch (error) {
      return [`${place}: ${String(error)}: ${text.slice(0, 200)}`]
    }
  })
  expect(faults).toEqual([])
})

test('all files name the version of package.json', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string
    packages: Record<string, { version: string }>
  }
  expect([lock.version, lock.packages['']?.version]).toEqual([version, version])
  const named = [...documents, 'manifest.json', 'server.json', 'Dockerfile', 'compose.yaml'].flatMap((path) =>
    path === 'CHANGELOG.md'
      ? []
      : [...read(path).matchAll(/payments-mcp[-@:](\d+\.\d+\.\d+)|^ *"version": "([^"]+)"/gm)].map(([, one, other]) => [
          path,
          one ?? other,
        ]),
  )
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter(([, found]) => found !== version)).toEqual([])
})
