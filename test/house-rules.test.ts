import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'

/**
 * Checks the project's files against the code rules in CONTRIBUTING.md. Samples prove that each check can fail. A room
 * is a folder or a single file that may import only certain other rooms.
 */

interface Rule {
  name: string
  /** Returns whether the rule applies to the file at this path, which is relative to the repository. */
  covers: (path: string) => boolean
  /** Returns a description of each violation in the file's text. */
  violations: (text: string, path: string) => string[]
  /** A sample with exactly one violation. */
  bad: Sample
  /** A similar sample without violations. */
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
const isProduct = (path: string) => inside('src', 'tools')(path) && path.endsWith('.ts')
const isCode = (path: string) => /\.(ts|js|mjs|mts)$/.test(path)

/** Returns a check that reports every match of the pattern, except in comments and quoted strings. */
const without = (pattern: RegExp) => (text: string) =>
  [...withoutCommentsAndStrings(text).matchAll(new RegExp(pattern, 'g'))].map(([found]) => `has ${found}`)

/**
 * The rooms of the service, each with the other rooms that it may import: the rooms in the first list, and the rooms
 * above it in the second list.
 */
const serviceRooms = layeredImports(
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

/** The rooms in src/mcp/, each with the other rooms in src/mcp/ that it may import. */
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
 * The rooms of the product, each with the other rooms that it may import. A file in several nested rooms belongs to the
 * innermost room.
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
  ...mcpImports(['src/core/', 'src/display/', 'src/config/', 'tools/', 'src/client/', 'src/auth/']),
  ...serviceRooms,
  'src/rehearse/': [
    ...['src/core/', 'src/display/', 'src/config/', 'tools/', 'src/worlds/', 'src/client/'],
    ...Object.keys(serviceRooms),
  ],
  'src/commands/': commandImports(),
  'src/testing/': ['src/commands/', ...commandImports()],
  'src/': ['src/commands/'],
}

/** Returns the rooms that `src/commands/` may import. */
function commandImports(): readonly string[] {
  const parts = ['core', 'display', 'config', 'openapi', 'worlds', 'client', 'auth', 'simulate', 'rehearse'].map(
    (room) => `src/${room}/`,
  )
  return [...parts, 'tools/', ...Object.keys(mcpImports([])), ...Object.keys(serviceRooms)]
}

function mcpImports(shared: readonly string[]): Record<string, readonly string[]> {
  const entries = Object.entries(mcpRooms)
  return Object.fromEntries(
    entries.map(([room, others]) => [`src/mcp/${room}`, [...shared, ...others.map((other) => `src/mcp/${other}`)]]),
  )
}

function layeredImports(shared: readonly string[], ordered: readonly string[]): Record<string, readonly string[]> {
  return Object.fromEntries(ordered.map((room, at) => [room, [...shared, ...ordered.slice(0, at)]]))
}

const rules: readonly Rule[] = [
  {
    name: 'a room imports only itself and the rooms that are listed for it',
    covers: isProduct,
    violations: (text, path) =>
      importsOf(text, path)
        .filter(({ file }) => file !== undefined && !allowed(path, file))
        .map(({ file }) => `imports ${file}`),
    bad: { path: 'src/mcp/server.ts', text: "import { app } from '../service/app.ts'" },
    good: { path: 'src/cli.ts', text: "import { main } from './commands/main.ts'" },
  },
  {
    name: 'the rules of the service import only types, other rules, errors, faults, masking, permissions and money',
    covers: inside('src/service/rules'),
    violations: (text, path) =>
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
    name: 'a page imports no other page, only the frame that all pages share',
    covers: (path) => isProduct(path) && path.startsWith('src/service/') && pageOf(path) !== 'mount.ts',
    violations: (text, path) =>
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
    name: 'the frame and the routes, views and words of a page do not import the store',
    covers: (path) => /^src\/service\/pages\/(frame\/|.*\b(routes|view|words)\.ts$)/.test(path),
    violations: (text, path) =>
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
    name: 'only the store imports a database library',
    covers: (path) => isProduct(path) && !path.startsWith('src/service/store/'),
    violations: (text, path) => packageViolations(text, path, /^(kysely|pg|node:sqlite|sqlite)(\/|$)/),
    bad: { path: 'src/service/operations/wallets.ts', text: "import { sql } from 'kysely'" },
    good: { path: 'src/service/store/engine/store.ts', text: "import { sql } from 'kysely'" },
  },
  {
    name: 'in the service, only request/, store/, tokens/ and seed.ts open transactions or record activity',
    covers: (path) =>
      inside('src/service')(path) &&
      !inside('src/service/request', 'src/service/store', 'src/service/tokens')(path) &&
      path !== 'src/service/seed.ts',
    violations: without(/\.(transaction|aside)\(|\brecordAct\(/),
    bad: { path: 'src/service/pages/card/card-page.ts', text: 'store.transaction(async (tx) => pay(tx))' },
    good: { path: 'src/service/request/settled-transaction.ts', text: 'store.transaction(async (tx) => work(tx))' },
  },
  {
    name: 'only src/core/system.ts reads the clock, waits and generates random values',
    covers: (path) => isProduct(path) && path !== 'src/core/system.ts' && path !== 'src/service/rules/calendar.ts',
    violations: (text, path) => [
      ...packageViolations(text, path, /^(node:)?(crypto|timers|perf_hooks)(\/|$)/),
      ...without(
        /\bDate\b|\bset(Timeout|Interval|Immediate)\b|\bperformance\b|\bMath\.random\b|\bcrypto\.|\bprocess\.hrtime\b/,
      )(text),
    ],
    bad: { path: 'src/client/client.ts', text: 'const now = Date.now()' },
    good: { path: 'src/client/client.ts', text: "// not Date.now()\nheaders.get('Date')" },
  },
  {
    name: 'the calendar computes with dates, but never reads the clock',
    covers: (path) => path === 'src/service/rules/calendar.ts',
    violations: without(/\bDate\.now\b|\bnew Date\(\)|\bDate\(\)/),
    bad: { path: 'src/service/rules/calendar.ts', text: 'const today = new Date()' },
    good: { path: 'src/service/rules/calendar.ts', text: 'const day = new Date(ms)' },
  },
  {
    name: 'only src/config/load.ts reads environment variables',
    covers: (path) => isProduct(path) && path !== 'src/config/load.ts',
    violations: (text, path) => [
      ...packageViolations(text, path, /^(node:)?process$/),
      ...without(/\bprocess\.env\b|\bprocess\[/)(text),
    ],
    bad: { path: 'src/cli.ts', text: 'if (process.env.DEBUG) start()' },
    good: { path: 'src/cli.ts', text: 'process.exitCode = 2' },
  },
  {
    name: 'only src/cli.ts, the commands and the simulation use the console or stdout',
    covers: (path) => isProduct(path) && path !== 'src/cli.ts' && !inside('src/commands', 'src/simulate')(path),
    violations: without(/\bprocess\.stdout\b|\bconsole\.\w+/),
    bad: { path: 'src/mcp/server.ts', text: "console.log('hello')" },
    good: { path: 'src/simulate/report.ts', text: "console.log('hello')" },
  },
  {
    name: 'a file in src/ or tools/ has at most 300 lines',
    covers: isProduct,
    violations: (text) => {
      const lines = text.trimEnd().split('\n').length
      return lines > 300 ? [`has ${lines} lines`] : []
    },
    bad: { path: 'src/config/log.ts', text: 'x\n'.repeat(301) },
    good: { path: 'src/config/log.ts', text: 'x\n'.repeat(300) },
  },
  {
    name: 'no file has a generic name such as utils; only tools/ and src/service/operations/ have an index.ts',
    covers: isCode,
    violations: (_, path) => {
      const name = posix.basename(path).replace(/\..*$/, '')
      const index = name === 'index' && !['tools/index.ts', 'src/service/operations/index.ts'].includes(path)
      return index || /^(utils?|helpers?|misc|common)$/.test(name) ? [`is named ${name}`] : []
    },
    bad: { path: 'src/mcp/utils.ts', text: '' },
    good: { path: 'tools/index.ts', text: '' },
  },
  {
    name: 'no file has a default export',
    covers: (path) => isCode(path) && !path.endsWith('vitest.config.ts'),
    violations: without(/\bexport default\b|\bas default\b/),
    bad: { path: 'scripts/bundle.ts', text: 'export default 1' },
    good: { path: 'scripts/bundle.ts', text: 'export const one = 1' },
  },
  {
    name: 'tests check the content of a page with expect.poll, not with expect(await …)',
    covers: (path) => path.startsWith('test/') && path.endsWith('.ts'),
    violations: without(
      /\bexpect\(await \S.*\.(textContent|allTextContents|inputValue|isVisible|isHidden|getAttribute|evaluate|innerHTML)\(/,
    ),
    bad: { path: 'test/pages/claim.test.ts', text: 'expect(await page.locator(main).textContent()).toBe(one)' },
    good: { path: 'test/pages/claim.test.ts', text: 'await expect.poll(() => page.getByRole(one).textContent())' },
  },
  {
    name: 'no comment begins with Of or Those',
    covers: isCode,
    violations: (text) =>
      [...text.matchAll(/(?:\/\*\*?|\/\/) *((?:Of|Those)\b.*)/g)].map(([, words]) => `says ${words}`),
    bad: { path: 'src/cli.ts', text: `/** ${'Of'} a form, by what it is for. */` },
    good: { path: 'src/cli.ts', text: '/** The form, by what it is for. */' },
  },
  {
    name: 'no file contains a marker for unfinished work',
    covers: (path) => path !== 'package-lock.json',
    violations: (text) =>
      [...text.matchAll(new RegExp(`\\b(${['TO', 'FIX'].join('DO|')}ME)\\b`, 'g'))].map(([word]) => `has ${word}`),
    bad: { path: 'src/config/log.ts', text: `// ${'TO'}DO: later` },
    good: { path: 'src/config/log.ts', text: '// Todos are resources.' },
  },
  {
    name: 'no file contains the address of a package registry',
    covers: () => true,
    violations: (text) => [
      ...[
        ...text.matchAll(
          /\bhttps?:\/\/[^\s"'`/]*(registry|npmjs|npmmirror|yarnpkg|artifactory|nexus|verdaccio|pypi)[^\s"'`]*/gi,
        ),
      ].map(([address]) => `contains ${address}`),
      ...[...text.matchAll(/^\s*"resolved": ".*:\/\/.*$/gm)].map(([line]) => `has ${line.trim()}`),
      ...[...text.matchAll(/^\s*(@[\w-]+:)?registry\s*=.*$/gm)].map(([line]) => `has ${line.trim()}`),
    ],
    bad: { path: 'package-lock.json', text: `"resolved": "${'https:'}//packages.example/zod.tgz"` },
    good: { path: 'package-lock.json', text: '"integrity": "sha512-registry"' },
  },
]

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readTree()

describe.each(rules.map((rule) => [rule.name, rule] as const))('rule: %s', (_, { covers, violations, bad, good }) => {
  it('no file violates the rule', () => {
    const covered = [...files].filter(([path]) => covers(path))
    expect(covered.flatMap(([path, text]) => violations(text, path).map((found) => `${path} ${found}`))).toEqual([])
  })

  it('the check reports the bad sample and accepts the good one', () => {
    expect(covers(bad.path) && violations(bad.text, bad.path)).toHaveLength(1)
    expect(covers(good.path) ? violations(good.text, good.path) : []).toEqual([])
  })
})

test('each resource in tools/ has a file of the same name in src/service/operations/, and vice versa', () => {
  const nouns = (folder: string) =>
    [...files.keys()].flatMap((path) => new RegExp(`^${folder}/([\\w-]+)\\.ts$`).exec(path)?.[1] ?? [])
  const described = nouns('tools').filter((noun) => !['schemas', 'kinds'].includes(noun))
  expect(nouns('src/service/operations').toSorted()).toEqual(described.toSorted())
})

describe('circular imports', () => {
  it('no files in src/ or tools/ import each other in a circle', () => {
    expect(circles(new Map([...files].filter(([path]) => isProduct(path))))).toEqual([])
  })

  it('the check reports a circle of three files', () => {
    const tree = new Map([
      ['src/a.ts', "import { b } from './b.ts'\nimport type { d } from './d.ts'"],
      ['src/b.ts', "import { c } from './c.ts'"],
      ['src/c.ts', "import type { A } from './a.ts'"],
      ['src/d.ts', "import { zod } from 'zod'"],
    ])
    expect(circles(tree)).toEqual([['src/a.ts', 'src/b.ts', 'src/c.ts']])
  })
})

describe('unused files', () => {
  it('every file in src/ or tools/ is used', () => {
    expect(unusedFiles(files, entryPoints())).toEqual([])
  })

  it('the check reports an unused file', () => {
    const tree = new Map([
      ['src/cli.ts', "import './a.ts'\nconst b = await import('./b.ts')\nnew URL('./c.ts', import.meta.url)"],
      ['src/a.ts', ''],
      ['src/b.ts', "export type { D } from './d.ts'"],
      ['src/c.ts', ''],
      ['src/d.ts', ''],
      ['src/dead.ts', "import './a.ts'"],
    ])
    expect(unusedFiles(tree, ['src/cli.ts'])).toEqual(['src/dead.ts'])
  })
})

/**
 * The maximum number of code lines in each room, and the maximum number of files in bench. If the test fails, it prints
 * this table with the current numbers.
 */
const budget: Readonly<Record<string, number>> = {
  bench: 2255,
  'files in bench': 20,
  src: 21,
  'src/auth': 855,
  'src/client': 785,
  'src/commands': 4571,
  'src/config': 674,
  'src/core': 2061,
  'src/display': 966,
  'src/mcp': 861,
  'src/mcp/answers': 358,
  'src/mcp/bridge': 345,
  'src/mcp/http': 1887,
  'src/mcp/people': 1260,
  'src/mcp/resources': 405,
  'src/mcp/tools': 1852,
  'src/mcp/ui': 1103,
  'src/openapi': 647,
  'src/rehearse': 3475,
  'src/rehearse/agents': 544,
  'src/rehearse/answer': 1649,
  'src/rehearse/closed-world': 282,
  'src/rehearse/effects': 580,
  'src/rehearse/mutants': 761,
  'src/rehearse/report': 1073,
  'src/rehearse/scripted': 1107,
  'src/service': 718,
  'src/service/fill': 1211,
  'src/service/idp': 237,
  'src/service/oauth': 1971,
  'src/service/operations': 5837,
  'src/service/pages': 12359,
  'src/service/request': 4611,
  'src/service/rules': 2761,
  'src/service/store': 10648,
  'src/service/tokens': 561,
  'src/simulate': 1950,
  'src/testing': 195,
  'src/worlds': 2145,
  tools: 4439,
}

describe('the size budget', () => {
  it('no room is larger than its row in the budget allows, and no row is much too high', () => {
    const found = sizes(files)
    const violations = overBudget(found, budget)
    if (violations.length > 0) expect.fail(`${violations.join('\n')}\n\nThe current table:\n${tableOf(found)}`)
  })

  it('the check reports rooms above or far below their budget, rooms without a row, and rows without a room', () => {
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
      'files in bench': 1,
    }
    expect(overBudget(sizes(tree), rows)).toEqual([
      'src/service has size 1001, above its budget of 1000. Make it smaller, or write 1001 and say why in the commit',
      'src/service/store has size 979, below its budget of 1000. Write 979, so that it cannot grow back',
      'src/new has size 5 but no row. Add a row with 5, and say why in the commit',
      'files in bench has size 2, above its budget of 1. Make it smaller, or write 2 and say why in the commit',
      'src/gone has a row but no code. Delete the row',
    ])
  })
})

function allowed(from: string, to: string): boolean {
  if (!isProduct(to)) return to === 'package.json'
  const [room, other] = [roomOf(from), roomOf(to)]
  return room === other || rooms[room]?.includes(other) === true
}

function roomOf(path: string): string {
  const around = Object.keys(rooms).filter((room) => path.startsWith(room))
  const innermost = around.sort((one, other) => other.length - one.length)[0]
  if (innermost === undefined) throw new Error(`${path} is in no room: add its folder to the table of rooms`)
  return innermost
}

/** Returns the files of every import circle. Finds strongly connected components with Tarjan's algorithm. */
function circles(tree: ReadonlyMap<string, string>): string[][] {
  const found: string[][] = []
  const marks = new Map<string, { index: number; lowest: number }>()
  const open: string[] = []
  const visit = (path: string, text: string) => {
    const mark = { index: marks.size, lowest: marks.size }
    marks.set(path, mark)
    open.push(path)
    for (const { file } of importsOf(text, path)) {
      const next = file === undefined ? undefined : tree.get(file)
      if (file === undefined || next === undefined) continue
      const other = marks.get(file) ?? visit(file, next)
      if (open.includes(file)) mark.lowest = Math.min(mark.lowest, other.lowest)
    }
    if (mark.lowest === mark.index) {
      const circle = open.splice(open.indexOf(path))
      if (circle.length > 1) found.push(circle.sort())
    }
    return mark
  }
  for (const [path, text] of tree) if (!marks.has(path)) visit(path, text)
  return found
}

interface Import {
  from: string
  /** The imported file's path in the repository; undefined for a package. */
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

function packageViolations(text: string, path: string, banned: RegExp): string[] {
  return importsOf(text, path)
    .filter(({ file, from }) => file === undefined && banned.test(from))
    .map(({ from }) => `imports ${from}`)
}

/** Returns the text without comments and quoted strings. Template literals remain, because they can contain code. */
function withoutCommentsAndStrings(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, '')
}

function unusedFiles(tree: ReadonlyMap<string, string>, from: readonly string[]): string[] {
  const reached = new Set<string>()
  const waiting = [...from]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const text = tree.get(path)
    if (text === undefined || reached.has(path)) continue
    reached.add(path)
    waiting.push(...importsOf(text, path).flatMap(({ file }) => file ?? []))
  }
  return [...tree.keys()].filter((path) => isProduct(path) && !reached.has(path))
}

/** Returns the source files of the entry points in package.json: `bin` and `exports`. */
function entryPoints(): string[] {
  const { bin, exports } = JSON.parse(files.get('package.json') ?? '') as Record<
    'bin' | 'exports',
    Record<string, string>
  >
  return [...Object.values(bin), ...Object.values(exports)].map((path) =>
    path.replace(/^(\.\/)?(dist\/)?/, '').replace(/\.js$/, '.ts'),
  )
}

/**
 * Counts the code lines of each room, and the files in bench. The lines of a nested room do not count for the room
 * around it.
 */
function sizes(tree: ReadonlyMap<string, string>): Map<string, number> {
  const found = new Map<string, number>()
  const add = (room: string, count: number) => found.set(room, (found.get(room) ?? 0) + count)
  for (const [path, text] of tree) {
    const room = /^(src\/(service|mcp|rehearse)(\/[^/]+(?=\/))?|src\/[^/]+(?=\/)|src|tools|bench)\//.exec(path)?.[1]
    if (room === undefined || !/\.(ts|js|css|html|sql|sh)$/.test(path)) continue
    add(room, codeLines(text, path))
    if (room === 'bench') add('files in bench', 1)
  }
  return found
}

/** Counts the lines that are neither blank nor comments. */
function codeLines(text: string, path: string): number {
  const code = text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '')
  const comment = path.endsWith('.sql') ? /^\s*(--|\/\/)/ : /^\s*\/\//
  return code.split('\n').filter((line) => line.trim() !== '' && !comment.test(line)).length
}

/**
 * Returns a message for each room that has no row, or is above or far below its budget. Also returns a message for each
 * row without a room.
 */
function overBudget(found: ReadonlyMap<string, number>, rows: Readonly<Record<string, number>>): string[] {
  const removedRooms = Object.keys(rows).filter((room) => !found.has(room))
  return [
    ...[...found].flatMap(([room, now]) => {
      const limit = rows[room]
      const has = `${room} has size ${now}`
      if (limit === undefined) return `${has} but no row. Add a row with ${now}, and say why in the commit`
      if (now > limit)
        return `${has}, above its budget of ${limit}. Make it smaller, or write ${now} and say why in the commit`
      const isMuchSmaller = limit - now > 20 && now < limit * 0.98
      return isMuchSmaller ? `${has}, below its budget of ${limit}. Write ${now}, so that it cannot grow back` : []
    }),
    ...removedRooms.map((room) => `${room} has a row but no code. Delete the row`),
  ]
}

function tableOf(found: ReadonlyMap<string, number>): string {
  const sorted = [...found].sort(([one], [other]) => (one < other ? -1 : 1))
  return sorted.map(([room, lines]) => `  ${/^\w+$/.test(room) ? room : `'${room}'`}: ${lines},`).join('\n')
}

/** Returns the text of each file in the repository, by path. Leaves out built, installed and binary files. */
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
