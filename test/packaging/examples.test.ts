import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { entryPoints, examplesOf } from '../../scripts/api-reference.ts'
import { type Installed, installPackage, root } from './installed.ts'

let installed: Installed

beforeAll(() => {
  installed = installPackage()
})

afterAll(() => installed?.remove())

test('examples/node-test tests an agent over MCP', () => {
  const folder = copyExample('node-test', inRoot('@modelcontextprotocol/client'))
  expect(run(folder, process.execPath, '--test', '--test-reporter=tap')).toMatch(/^# pass 3$/m)
})

test('examples/vitest tests a buyer, with the types that the package has', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'))
  expect(run(folder, process.execPath, join(inRoot('vitest').path, 'vitest.mjs'), 'run')).toMatch(/Tests +6 passed/)
  const check = () => run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  check()
  const wrong = "import { createSandbox } from 'payments-mcp/testing'\ncreateSandbox({ port: 'any' })\n"
  writeFileSync(join(folder, 'wrong.test.ts'), wrong)
  expect(check).toThrow("wrong.test.ts(2,17): error TS2322: Type 'string' is not assignable")
})

test('the tests that docs/testing.md shows pass', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'), inRoot('@modelcontextprotocol/client'))
  const blocks = [...readFileSync(join(root, 'docs/testing.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
  expect(blocks).toHaveLength(2)
  for (const [index, [, text = '']] of blocks.entries()) writeFileSync(join(folder, `shown-${index}.test.ts`), text)
  run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  const testRun = run(folder, process.execPath, join(inRoot('vitest').path, 'vitest.mjs'), 'run', 'shown')
  expect(testRun).toMatch(/Tests +2 passed/)
})

test('the sandbox example in README.md works', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'))
  const [, text = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  run(folder, process.execPath, join(folder, 'node_modules/payments-mcp/dist/src/cli.js'), 'init')
  writeFileSync(join(folder, 'readme.ts'), `${text}await sandbox.close()\n`)
  run(folder, process.execPath, 'readme.ts')
})

test('the examples in doc comments compile with the types that the package has, and run', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'))
  const names = (Object.keys(entryPoints) as (keyof typeof entryPoints)[]).flatMap((entryPoint) =>
    examplesOf(entryPoint).map((text, index) => {
      const name = `${entryPoint.replace('/', '-')}-${index}.ts`
      writeFileSync(join(folder, name), text)
      return name
    }),
  )
  run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  const called = names.filter((name) => !readFileSync(join(folder, name), 'utf8').includes('payments.example'))
  for (const name of called) run(folder, process.execPath, join(folder, name))
})

test('examples/jest tests a backend', ({ skip }) => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'examples/jest/package.json'), 'utf8'))
  const jest = `jest@${devDependencies.jest}`
  const isThere = spawnSync('npm', ['view', jest, 'version']).status === 0
  if (!isThere) skip('Jest cannot be installed from here')
  const place = join(installed.folder, 'with-jest')
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{}')
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', jest], { cwd: place, stdio: 'pipe' })
  const folder = copyExample('jest', { name: 'jest', path: join(place, 'node_modules/jest') })
  expect(run(folder, 'npm', 'test')).toMatch(/Tests: +4 passed, 4 total/)
})

test('examples/python tests a buyer', ({ skip }) => {
  if (spawnSync('python3', ['--version']).status !== 0) skip('there is no Python here')
  const output = run(copyExample('python'), 'python3', '-W', 'error', '-m', 'unittest')
  expect(output).toMatch(/^Ran 4 tests[\s\S]*^OK$/m)
})

/** A package, and the folder from which it is installed. */
interface Place {
  name: string
  path: string
}

const inRoot = (name: string): Place => ({ name, path: join(root, 'node_modules', name) })

/** Copies an example into a new folder, and links the package and the given packages there. */
function copyExample(example: string, ...others: Place[]): string {
  const folder = mkdtempSync(join(installed.folder, `${example}-`))
  cpSync(join(root, 'examples', example), folder, { recursive: true, filter: (path) => !path.endsWith('node_modules') })
  const packageFolder = { name: 'payments-mcp', path: join(installed.folder, 'node_modules/payments-mcp') }
  for (const { name, path } of [packageFolder, ...others]) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(path, place)
  }
  return folder
}

/**
 * Runs a command, and returns its output.
 * @throws Error with the output if it fails
 */
function run(cwd: string, command: string, ...args: string[]): string {
  const env = { ...installed.env, NO_COLOR: '1', CI: '1' }
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  const output = `${stdout}${stderr}`
  if (status !== 0) throw error ?? new Error(output)
  return output
}
