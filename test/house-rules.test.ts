import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'

/**
 * Checks the rules of the house (CONTRIBUTING.md) by reading the files. Each rule proves on a bad sample that it can
 * fail.
 */

interface Rule {
  name: string
  /** Whether the rule covers the file at this path, relative to the repository. */
  covers: (path: string) => boolean
  /** Returns the faults of the text in words; an empty list if there are none. */
  faults: (text: string, path: string) => string[]
  bad: Sample
  /** A sample that the rule allows. */
  good: Sample
}

interface Sample {
  path: string
  text: string
}

const inside =
  (...folders: string[]) =>
  (path: string) =>
    folders.some((folder) => path.startsWith(`${folder}/`))
const product = (path: string) => inside('src', 'tools')(path) && path.endsWith('.ts')
const code = (path: string) => /\.(ts|js|mjs|mts)$/.test(path)

/** Returns a check that the pattern does not occur in code. Comments and quoted texts don't count. */
const without = (pattern: RegExp) => (text: string) =>
  [...bare(text).matchAll(new RegExp(pattern, 'g'))].map(([found]) => `has ${found}`)

/** The service's rooms: each may import those before it. */
const serviceFloors = floors(
  ['src/core/', 'src/display/', 'src/config/', 'tools/', 'src/openapi/', 'src/worlds/'],
  [
    'src/service/rules/',
    'src/service/store/schema/',
    'src/service/store/engine/',
    'src/service/store/',
    'src/service/tokens/',
    'src/service/request/',
    'src/service/operations/',
    'src/service/oauth/',
    'src/service/idp/',
    'src/service/pages/frame/',
    'src/service/pages/',
    'src/service/',
  ],
)

/** The MCP server's rooms, each with the other rooms it may import. */
const mcpRooms = {
  'server.ts': [
    ...[
      'tools/',
      'people/',
      'resources/',
      'prompts.ts',
      'instructions.ts',
      'answers/',
      'host.ts',
      'dependencies.ts',
      'subscriptions.ts',
      'listen-request.ts',
    ],
  ],
  'http/': ['resources/', 'listen-request.ts'],
  'stdio.ts': ['lines.ts', 'listen-request.ts'],
  'bridge/': ['stdio.ts', 'answers/'],
  'tools/': ['people/', 'resources/', 'answers/', 'run-notes.ts', 'dependencies.ts'],
  'people/': ['resources/', 'answers/', 'run-notes.ts', 'host.ts', 'dependencies.ts'],
  'resources/': ['prompts.ts', 'answers/', 'dependencies.ts', 'subscriptions.ts'],
  'prompts.ts': ['answers/', 'dependencies.ts'],
  'instructions.ts': ['dependencies.ts'],
  'answers/': [],
  'run-notes.ts': ['answers/', 'host.ts', 'dependencies.ts'],
  'host.ts': ['dependencies.ts'],
  'dependencies.ts': ['subscriptions.ts'],
  'subscriptions.ts': [],
  'lines.ts': [],
  'listen-request.ts': [],
  'ui/': [],
}

/**
 * The rooms of the product, each with the rooms it may import besides itself. A file belongs to the innermost room
 * around it.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  'src/core/': [],
  'src/display/': ['src/core/'],
  'src/config/': ['src/core/'],
  'tools/': ['src/core/'],
  'src/openapi/': ['src/core/', 'src/config/', 'tools/'],
  'src/worlds/': ['src/core/', 'src/config/', 'tools/'],
  'src/client/': ['src/core/', 'src/config/', 'tools/'],
  'src/auth/': ['src/core/', 'src/display/', 'src/config/', 'src/client/'],
  'src/simulate/': ['src/core/', 'src/config/', 'tools/', 'src/client/'],
  ...inMcp(['src/core/', 'src/display/', 'src/config/', 'tools/', 'src/client/', 'src/auth/']),
  ...serviceFloors,
  'src/rehearse/': [
    ...['src/core/', 'src/display/', 'src/config/', 'tools/', 'src/worlds/', 'src/client/'],
    ...Object.keys(serviceFloors),
  ],
  'src/commands/': composed(),
  'src/testing/': ['src/commands/', ...composed()],
  'src/': ['src/commands/'],
}

/** Returns the rooms that `src/commands/` composes into the program. */
function composed(): readonly string[] {
  const parts = ['core', 'display', 'config', 'openapi', 'worlds', 'client', 'auth', 'simulate', 'rehearse'].map(
    (room) => `src/${room}/`,
  )
  return [...parts, 'tools/', ...Object.keys(inMcp([])), ...Object.keys(serviceFloors)]
}

function inMcp(under: readonly string[]): Record<string, readonly string[]> {
  const entries = Object.entries(mcpRooms)
  return Object.fromEntries(
    entries.map(([room, below]) => [`src/mcp/${room}`, [...under, ...below.map((other) => `src/mcp/${other}`)]]),
  )
}

function floors(under: readonly string[], upwards: readonly string[]): Record<string, readonly string[]> {
  return Object.fromEntries(upwards.map((floor, at) => [floor, [...under, ...upwards.slice(0, at)]]))
}

const rules: readonly Rule[] = [
  {
    name: 'imports run down: each room imports itself and the rooms below it',
    covers: product,
    faults: (text, path) =>
      importsOf(text, path)
        .filter(({ file }) => file !== undefined && !allowed(path, file))
        .map(({ file }) => `imports ${file}`),
    bad: { path: 'src/mcp/server.ts', text: "import { app } from '../service/app.ts'" },
    good: { path: 'src/cli.ts', text: "import { main } from './commands/main.ts'" },
  },
  {
    name: 'a rule of the service imports only errors, faults, types, permissions, masking and the texts of money',
    covers: inside('src/service/rules'),
    faults: (text, path) =>
      importsOf(text, path)
        .filter(({ file, typeOnly }) => {
          if (file === undefined) return !typeOnly
          if (/^src\/core\/(errors|faults|masking|permissions|money)\.ts$/.test(file)) return false
          if (file === 'src/core/operation.ts' || file.startsWith('tools/')) return !typeOnly
          return !file.startsWith('src/service/rules/')
        })
        .map(({ from }) => `imports ${from}`),
    bad: { path: 'src/service/rules/cards.ts', text: "import { newId } from '../../core/system.ts'" },
    good: {
      path: 'src/service/rules/cards.ts',
      text: "import type { AgentCard } from '../../../tools/agent-cards.ts'",
    },
  },
  {
    name: 'a page imports its own folder and the frame of all pages, and no other page',
    covers: (path) => product(path) && path.startsWith('src/service/') && pageOf(path) !== 'mount.ts',
    faults: (text, path) =>
      importsOf(text, path)
        .filter(({ file }) => {
          const [importer, imported] = [pageOf(path), file && pageOf(file)]
          if (imported === undefined || path === 'src/service/app.ts') return false
          return importer === undefined || ![importer, 'frame'].includes(imported)
        })
        .map(({ file }) => `imports ${file}`),
    bad: { path: 'src/service/pages/frame/forms.ts', text: "import { words } from '../card/words.ts'" },
    good: { path: 'src/service/pages/card/view.ts', text: "import { formPage } from '../frame/form-page.ts'" },
  },
  {
    name: 'only the back room of a page reads the store',
    covers: (path) => /^src\/service\/pages\/(frame\/|.*\b(routes|view|words)\.ts$)/.test(path),
    faults: (text, path) =>
      importsOf(text, path)
        .filter(({ file }) => file !== undefined && inside('src/service/store', 'src/service/tokens')(file))
        .map(({ file }) => `imports ${file}`),
    bad: {
      path: 'src/service/pages/connect/link-routes.ts',
      text: "import { findParty } from '../../store/parties.ts'",
    },
    good: { path: 'src/service/pages/connect/link.ts', text: "import { findParty } from '../../store/parties.ts'" },
  },
  {
    name: 'only the store imports a database',
    covers: (path) => product(path) && !path.startsWith('src/service/store/'),
    faults: (text, path) => packageFaults(text, path, /^(kysely|pg|node:sqlite|sqlite)(\/|$)/),
    bad: { path: 'src/service/operations/wallets.ts', text: "import { sql } from 'kysely'" },
    good: { path: 'src/service/store/engine/store.ts', text: "import { sql } from 'kysely'" },
  },
  {
    name: 'only request/ opens a transaction and records its activity; the store, keys and the seed have no actor',
    covers: (path) =>
      inside('src/service')(path) &&
      !inside('src/service/request', 'src/service/store', 'src/service/tokens')(path) &&
      path !== 'src/service/seed.ts',
    faults: without(/\.(transaction|aside)\(|\brecordAct\(/),
    bad: { path: 'src/service/pages/card/card-page.ts', text: 'store.transaction(async (tx) => pay(tx))' },
    good: { path: 'src/service/request/settled-transaction.ts', text: 'store.transaction(async (tx) => work(tx))' },
  },
  {
    name: 'time, randomness and waiting come from src/core/system.ts',
    covers: (path) => product(path) && path !== 'src/core/system.ts' && path !== 'src/service/rules/calendar.ts',
    faults: (text, path) => [
      ...packageFaults(text, path, /^(node:)?(crypto|timers|perf_hooks)(\/|$)/),
      ...without(
        /\bDate\b|\bset(Timeout|Interval|Immediate)\b|\bperformance\b|\bMath\.random\b|\bcrypto\.|\bprocess\.hrtime\b/,
      )(text),
    ],
    bad: { path: 'src/client/client.ts', text: 'const now = Date.now()' },
    good: { path: 'src/client/client.ts', text: "// not Date.now()\nheaders.get('Date')" },
  },
  {
    name: 'the calendar computes with dates and reads no clock',
    covers: (path) => path === 'src/service/rules/calendar.ts',
    faults: without(/\bDate\.now\b|\bnew Date\(\)|\bDate\(\)/),
    bad: { path: 'src/service/rules/calendar.ts', text: 'const today = new Date()' },
    good: { path: 'src/service/rules/calendar.ts', text: 'const day = new Date(ms)' },
  },
  {
    name: 'the environment is read in src/config/load.ts',
    covers: (path) => product(path) && path !== 'src/config/load.ts',
    faults: (text, path) => [
      ...packageFaults(text, path, /^(node:)?process$/),
      ...without(/\bprocess\.env\b|\bprocess\[/)(text),
    ],
    bad: { path: 'src/cli.ts', text: 'if (process.env.DEBUG) start()' },
    good: { path: 'src/cli.ts', text: 'process.exitCode = 2' },
  },
  {
    name: 'stdout is written by the cli, the commands and the simulation',
    covers: (path) => product(path) && path !== 'src/cli.ts' && !inside('src/commands', 'src/simulate')(path),
    faults: without(/\bprocess\.stdout\b|\bconsole\.\w+/),
    bad: { path: 'src/mcp/server.ts', text: "console.log('hello')" },
    good: { path: 'src/simulate/report.ts', text: "console.log('hello')" },
  },
  {
    name: 'a file has at most 300 lines',
    covers: product,
    faults: (text) => {
      const lines = text.trimEnd().split('\n').length
      return lines > 300 ? [`has ${lines} lines`] : []
    },
    bad: { path: 'src/config/log.ts', text: 'x\n'.repeat(301) },
    good: { path: 'src/config/log.ts', text: 'x\n'.repeat(300) },
  },
  {
    name: 'a file is named after its idea, and only the catalogue and the operations of the service have an index',
    covers: code,
    faults: (_, path) => {
      const name = posix.basename(path).replace(/\..*$/, '')
      const index = name === 'index' && !['tools/index.ts', 'src/service/operations/index.ts'].includes(path)
      return index || /^(utils?|helpers?|misc|common)$/.test(name) ? [`is named ${name}`] : []
    },
    bad: { path: 'src/mcp/utils.ts', text: '' },
    good: { path: 'tools/index.ts', text: '' },
  },
  {
    name: 'nothing is exported by default',
    covers: (path) => code(path) && !path.endsWith('vitest.config.ts'),
    faults: without(/\bexport default\b|\bas default\b/),
    bad: { path: 'scripts/bundle.ts', text: 'export default 1' },
    good: { path: 'scripts/bundle.ts', text: 'export const one = 1' },
  },
  {
    name: 'a test waits for the text of a page: expect.poll instead of expect(await …)',
    covers: (path) => path.startsWith('test/') && path.endsWith('.ts'),
    faults: without(
      /\bexpect\(await \S.*\.(textContent|allTextContents|inputValue|isVisible|isHidden|getAttribute|evaluate|innerHTML)\(/,
    ),
    bad: { path: 'test/pages/claim.test.ts', text: 'expect(await page.locator(main).textContent()).toBe(one)' },
    good: { path: 'test/pages/claim.test.ts', text: 'await expect.poll(() => page.getByRole(one).textContent())' },
  },
  {
    name: 'a comment is a whole sentence: it does not begin with Of or Those',
    covers: code,
    faults: (text) => [...text.matchAll(/(?:\/\*\*?|\/\/) *((?:Of|Those)\b.*)/g)].map(([, words]) => `says ${words}`),
    bad: { path: 'src/cli.ts', text: `/** ${'Of'} a form, by what it is for. */` },
    good: { path: 'src/cli.ts', text: '/** The form, by what it is for. */' },
  },
  {
    name: 'no code is marked as unfinished',
    covers: (path) => path !== 'package-lock.json',
    faults: (text) =>
      [...text.matchAll(new RegExp(`\\b(${['TO', 'FIX'].join('DO|')}ME)\\b`, 'g'))].map(([word]) => `has ${word}`),
    bad: { path: 'src/config/log.ts', text: `// ${'TO'}DO: later` },
    good: { path: 'src/config/log.ts', text: '// Todos are resources.' },
  },
  {
    name: 'no file names the host of a package registry',
    covers: () => true,
    faults: (text) => [
      ...[
        ...text.matchAll(
          /\bhttps?:\/\/[^\s"'`/]*(registry|npmjs|npmmirror|yarnpkg|artifactory|nexus|verdaccio|pypi)[^\s"'`]*/gi,
        ),
      ].map(([address]) => `names ${address}`),
      ...[...text.matchAll(/^\s*"resolved": ".*:\/\/.*$/gm)].map(([line]) => `has ${line.trim()}`),
      ...[...text.matchAll(/^\s*(@[\w-]+:)?registry\s*=.*$/gm)].map(([line]) => `has ${line.trim()}`),
    ],
    bad: { path: 'package-lock.json', text: `"resolved": "${'https:'}//packages.example/zod.tgz"` },
    good: { path: 'package-lock.json', text: '"integrity": "sha512-registry"' },
  },
]

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readTree()

describe.each(rules.map((rule) => [rule.name, rule] as const))('%s', (_, { covers, faults, bad, good }) => {
  it('holds', () => {
    const covered = [...files].filter(([path]) => covers(path))
    expect(covered.flatMap(([path, text]) => faults(text, path).map((fault) => `${path} ${fault}`))).toEqual([])
  })

  it('can fail', () => {
    expect(covers(bad.path) && faults(bad.text, bad.path)).toHaveLength(1)
    expect(covers(good.path) ? faults(good.text, good.path) : []).toEqual([])
  })
})

test('each file of tools/ has one file of operations/, and there are no others', () => {
  const nouns = (folder: string) =>
    [...files.keys()].flatMap((path) => new RegExp(`^${folder}/([\\w-]+)\\.ts$`).exec(path)?.[1] ?? [])
  const described = nouns('tools').filter((noun) => !['schemas', 'kinds'].includes(noun))
  expect(nouns('src/service/operations').toSorted()).toEqual(described.toSorted())
})

describe('no files import each other in a circle', () => {
  it('holds', () => {
    expect(circles(new Map([...files].filter(([path]) => product(path))))).toEqual([])
  })

  it('can fail', () => {
    const tree = new Map([
      ['src/a.ts', "import { b } from './b.ts'\nimport type { d } from './d.ts'"],
      ['src/b.ts', "import { c } from './c.ts'"],
      ['src/c.ts', "import type { A } from './a.ts'"],
      ['src/d.ts', "import { zod } from 'zod'"],
    ])
    expect(circles(tree)).toEqual([['src/a.ts', 'src/b.ts', 'src/c.ts']])
  })
})

describe('every file is used', () => {
  it('holds', () => {
    expect(unused(files, entries())).toEqual([])
  })

  it('can fail', () => {
    const tree = new Map([
      ['src/cli.ts', "import './a.ts'\nconst b = await import('./b.ts')\nnew URL('./c.ts', import.meta.url)"],
      ['src/a.ts', ''],
      ['src/b.ts', "export type { D } from './d.ts'"],
      ['src/c.ts', ''],
      ['src/d.ts', ''],
      ['src/dead.ts', "import './a.ts'"],
    ])
    expect(unused(tree, ['src/cli.ts'])).toEqual(['src/dead.ts'])
  })
})

/** The maximum number of code lines per room, and of files in bench. A failing test prints the table to paste. */
const budget: Readonly<Record<string, number>> = {
  bench: 2253,
  'files of bench': 20,
  src: 21,
  'src/auth': 855,
  'src/client': 785,
  'src/commands': 4559,
  'src/config': 674,
  'src/core': 2056,
  'src/display': 966,
  'src/mcp': 861,
  'src/mcp/answers': 358,
  'src/mcp/bridge': 345,
  'src/mcp/http': 1884,
  'src/mcp/people': 1260,
  'src/mcp/resources': 405,
  'src/mcp/tools': 1852,
  'src/mcp/ui': 1103,
  'src/openapi': 647,
  'src/rehearse': 3471,
  'src/rehearse/agents': 544,
  'src/rehearse/answer': 1628,
  'src/rehearse/closed-world': 282,
  'src/rehearse/effects': 577,
  'src/rehearse/mutants': 756,
  'src/rehearse/report': 1073,
  'src/rehearse/scripted': 1107,
  'src/service': 718,
  'src/service/fill': 1208,
  'src/service/idp': 237,
  'src/service/oauth': 1971,
  'src/service/operations': 5828,
  'src/service/pages': 12341,
  'src/service/request': 4609,
  'src/service/rules': 2761,
  'src/service/store': 10626,
  'src/service/tokens': 561,
  'src/simulate': 1946,
  'src/testing': 195,
  'src/worlds': 2140,
  tools: 4434,
}

describe('a room may only shrink: the budget', () => {
  it('holds', () => {
    const found = sizes(files)
    const faults = overBudget(found, budget)
    if (faults.length > 0) expect.fail(`${faults.join('\n')}\n\nThe table as it is now:\n${tableOf(found)}`)
  })

  it('can fail in both directions', () => {
    const lines = (count: number) => 'x()\n'.repeat(count)
    const tree = new Map([
      ['src/core/a.ts', `/* one\n * comment */\n// another\n\n${lines(1_001)}`],
      ['src/service/app.ts', lines(1_001)],
      ['src/service/store/a.sql', `-- a comment\n${lines(979)}`],
      ['src/service/store/notes.md', lines(9)],
      ['src/mcp/ui/views/a.css', `:root {\n  --ink: #000;\n}\n${lines(76)}`],
      ['src/new/a.ts', lines(5)],
      ['tools/a.ts', lines(980)],
      ['bench/a.ts', lines(100)],
      ['bench/b.ts', lines(100)],
    ])
    const rows = {
      'src/core': 1_001,
      'src/service': 1_000,
      'src/service/store': 1_000,
      'src/mcp/ui': 99,
      'src/gone': 3,
      tools: 1_000,
      bench: 200,
      'files of bench': 1,
    }
    expect(overBudget(sizes(tree), rows)).toEqual([
      'src/service has 1001 and may have 1000: make it smaller, or write 1001 and say why in the commit',
      'src/service/store has 979 and may have 1000: write 979, so that it stays so',
      'src/new has 5 and no row: write 5, and say why in the commit',
      'files of bench has 2 and may have 1: make it smaller, or write 2 and say why in the commit',
      'src/gone has 0 and may have 3: delete its row',
    ])
  })
})

function allowed(from: string, to: string): boolean {
  if (!product(to)) return to === 'package.json'
  const [room, other] = [roomOf(from), roomOf(to)]
  return room === other || rooms[room]?.includes(other) === true
}

function roomOf(path: string): string {
  const around = Object.keys(rooms).filter((room) => path.startsWith(room))
  const innermost = around.sort((one, other) => other.length - one.length)[0]
  if (innermost === undefined) throw new Error(`${path} is in no room: add its folder to the table of rooms`)
  return innermost
}

/** Returns each circle of files that import each other: the strongly connected components (Tarjan). */
function circles(tree: ReadonlyMap<string, string>): string[][] {
  const found: string[][] = []
  const met = new Map<string, { index: number; lowest: number }>()
  const open: string[] = []
  const visit = (path: string, text: string) => {
    const mark = { index: met.size, lowest: met.size }
    met.set(path, mark)
    open.push(path)
    for (const { file } of importsOf(text, path)) {
      const next = file === undefined ? undefined : tree.get(file)
      if (file === undefined || next === undefined) continue
      const other = met.get(file) ?? visit(file, next)
      if (open.includes(file)) mark.lowest = Math.min(mark.lowest, other.lowest)
    }
    if (mark.lowest === mark.index) {
      const circle = open.splice(open.indexOf(path))
      if (circle.length > 1) found.push(circle.sort())
    }
    return mark
  }
  for (const [path, text] of tree) if (!met.has(path)) visit(path, text)
  return found
}

interface Import {
  from: string
  /** Returns the imported file's path in the repository; undefined for a package. */
  file: string | undefined
  typeOnly: boolean
}

function importsOf(text: string, path: string): Import[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(?<type>type\s)?(?:[\w*{][^'"]*?\sfrom\s+)?'(?<from>[^']+)'/gm),
    ...text.matchAll(/\bimport\(\s*'(?<from>[^']+)'/g),
    ...text.matchAll(/\bnew URL\(\s*'(?<from>\.[^']+\.ts)',\s*import\.meta\.url/g),
  ]
  return found.map(({ groups: named }) => {
    const from = named?.from ?? ''
    const file = from.startsWith('.') ? posix.join(posix.dirname(path), from) : undefined
    return { from, file, typeOnly: named?.type !== undefined }
  })
}

/** Returns the first part of the path below `src/service/pages/`; undefined for a path elsewhere. */
function pageOf(path: string): string | undefined {
  return path.match(/^src\/service\/pages\/([^/]+)/)?.[1]
}

function packageFaults(text: string, path: string, banned: RegExp): string[] {
  return importsOf(text, path)
    .filter(({ file, from }) => file === undefined && banned.test(from))
    .map(({ from }) => `imports ${from}`)
}

/** Returns the text without comments and quoted texts. Template literals stay, because they contain code. */
function bare(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, '')
}

function unused(tree: ReadonlyMap<string, string>, from: readonly string[]): string[] {
  const reached = new Set<string>()
  const waiting = [...from]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const text = tree.get(path)
    if (text === undefined || reached.has(path)) continue
    reached.add(path)
    waiting.push(...importsOf(text, path).flatMap(({ file }) => file ?? []))
  }
  return [...tree.keys()].filter((path) => product(path) && !reached.has(path))
}

/** Returns the source files of the bin and the exports in package.json. */
function entries(): string[] {
  const { bin, exports } = JSON.parse(files.get('package.json') ?? '') as Record<
    'bin' | 'exports',
    Record<string, string>
  >
  return [...Object.values(bin), ...Object.values(exports)].map((path) =>
    path.replace(/^(\.\/)?(dist\/)?/, '').replace(/\.js$/, '.ts'),
  )
}

/** Counts the code lines per room: src, its folders, the folders of its three largest folders, tools and bench. */
function sizes(tree: ReadonlyMap<string, string>): Map<string, number> {
  const found = new Map<string, number>()
  const add = (room: string, count: number) => found.set(room, (found.get(room) ?? 0) + count)
  for (const [path, text] of tree) {
    const room = /^(src\/(service|mcp|rehearse)(\/[^/]+(?=\/))?|src\/[^/]+(?=\/)|src|tools|bench)\//.exec(path)?.[1]
    if (room === undefined || !/\.(ts|js|css|html|sql|sh)$/.test(path)) continue
    add(room, codeLines(text, path))
    if (room === 'bench') add('files of bench', 1)
  }
  return found
}

/** Counts the lines that are neither blank nor comments. */
function codeLines(text: string, path: string): number {
  const code = text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '')
  const comment = path.endsWith('.sql') ? /^\s*(--|\/\/)/ : /^\s*\/\//
  return code.split('\n').filter((line) => line.trim() !== '' && !comment.test(line)).length
}

/** Describes the wrong rows: a room may not be larger than its row, nor much smaller. */
function overBudget(found: ReadonlyMap<string, number>, rows: Readonly<Record<string, number>>): string[] {
  const removedRooms = Object.keys(rows).filter((room) => !found.has(room))
  return [
    ...[...found].flatMap(([room, now]) => {
      const limit = rows[room]
      if (limit === undefined) return `${room} has ${now} and no row: write ${now}, and say why in the commit`
      const has = `${room} has ${now} and may have ${limit}`
      if (now > limit) return `${has}: make it smaller, or write ${now} and say why in the commit`
      return limit - now > 20 && now < limit * 0.98 ? `${has}: write ${now}, so that it stays so` : []
    }),
    ...removedRooms.map((room) => `${room} has 0 and may have ${rows[room]}: delete its row`),
  ]
}

function tableOf(found: ReadonlyMap<string, number>): string {
  const sorted = [...found].sort(([one], [other]) => (one < other ? -1 : 1))
  return sorted.map(([room, lines]) => `  ${/^\w+$/.test(room) ? room : `'${room}'`}: ${lines},`).join('\n')
}

/** Returns every text file of the repository that is not built or installed. */
function readTree(): Map<string, string> {
  const ignored = /(^|\/)(node_modules|dist|bundle|coverage|\.git)(\/|$)|\.(sqlite(-\w+)?|mcpb|png)$/
  const walk = (folder: string): string[] =>
    readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (ignored.test(path)) return []
      return entry.isDirectory() ? walk(path) : [path]
    })
  return new Map(walk('').map((path) => [path, readFileSync(root + path, 'utf8')]))
}
