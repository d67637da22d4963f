import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { entryPoints, examplesOf } from '../../scripts/api-reference.ts'
import { type InstalledPackage, installPackage, root } from './installed.ts'

let installed: InstalledPackage

beforeAll(() => {
  installed = installPackage()
})

afterAll(() => installed?.remove())

test('the agent tests in examples/node-test pass', () => {
  const folder = copyExample('node-test', inRoot('@modelcontextprotocol/client'))
  expect(run(folder, process.execPath, '--test', '--test-reporter=tap')).toMatch(/^# pass 3$/m)
})

test('the buyer tests in examples/vitest pass, and are checked against the types of the package', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'))
  expect(run(folder, process.execPath, join(inRoot('vitest').path, 'vitest.mjs'), 'run')).toMatch(/Tests +6 passed/)
  const check = () => run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  check()
  const wrong = "import { createSandbox } from 'payments-mcp/testing'\ncreateSandbox({ port: 'any' })\n"
  writeFileSync(join(folder, 'wrong.test.ts'), wrong)
  expect(check).toThrow("wrong.test.ts(2,17): error TS2322: Type 'string' is not assignable")
})

test('the tests in docs/testing.md compile and pass', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'), inRoot('@modelcontextprotocol/client'))
  const blocks = [...readFileSync(join(root, 'docs/testing.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
  expect(blocks).toHaveLength(2)
  for (const [index, [, text = '']] of blocks.entries()) writeFileSync(join(folder, `shown-${index}.test.ts`), text)
  run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  const testRun = run(folder, process.execPath, join(inRoot('vitest').path, 'vitest.mjs'), 'run', 'shown')
  expect(testRun).toMatch(/Tests +2 passed/)
})

test('the sandbox example in README.md runs without errors', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'))
  const [, text = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  run(folder, process.execPath, join(folder, 'node_modules/payments-mcp/dist/src/cli.js'), 'init')
  writeFileSync(join(folder, 'readme.ts'), `${text}await sandbox.close()\n`)
  run(folder, process.execPath, 'readme.ts')
})

test('the examples in doc comments compile with the types of the package, and run without errors', () => {
  const folder = copyExample('vitest', inRoot('vitest'), inRoot('@types/node'))
  const names = (Object.keys(entryPoints) as (keyof typeof entryPoints)[]).flatMap((entryPoint) =>
    examplesOf(entryPoint).map((text, index) => {
      const name = `${entryPoint.replace('/', '-')}-${index}.ts`
      writeFileSync(join(folder, name), text)
      return name
    }),
  )
  run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'))
  const runnable = names.filter((name) => !readFileSync(join(folder, name), 'utf8').includes('payments.example'))
  for (const name of runnable) run(folder, process.execPath, join(folder, name))
})

test('the backend tests in examples/jest pass', ({ skip }) => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'examples/jest/package.json'), 'utf8'))
  const jest = `jest@${devDependencies.jest}`
  const isAvailable = spawnSync('npm', ['view', jest, 'version']).status === 0
  if (!isAvailable) skip('Jest cannot be downloaded here')
  const cwd = join(installed.folder, 'with-jest')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), '{}')
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', jest], { cwd, stdio: 'pipe' })
  const folder = copyExample('jest', { name: 'jest', path: join(cwd, 'node_modules/jest') })
  expect(run(folder, 'npm', 'test')).toMatch(/Tests: +4 passed, 4 total/)
})

test('the buyer tests in examples/python pass', ({ skip }) => {
  if (spawnSync('python3', ['--version']).status !== 0) skip('Python is not installed')
  const output = run(copyExample('python'), 'python3', '-W', 'error', '-m', 'unittest')
  expect(output).toMatch(/^Ran 4 tests[\s\S]*^OK$/m)
})

/** The name of a package that an example needs, and the path of the package's folder. */
interface Dependency {
  name: string
  path: string
}

const inRoot = (name: string): Dependency => ({ name, path: join(root, 'node_modules', name) })

/** Copies an example to a new folder, and links payments-mcp and the given packages in its `node_modules`. */
function copyExample(example: string, ...others: Dependency[]): string {
  const folder = mkdtempSync(join(installed.folder, `${example}-`))
  cpSync(join(root, 'examples', example), folder, { recursive: true, filter: (path) => !path.endsWith('node_modules') })
  const packageFolder = { name: 'payments-mcp', path: join(installed.folder, 'node_modules/payments-mcp') }
  for (const { name, path } of [packageFolder, ...others]) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(path, link)
  }
  return folder
}

/**
 * Runs a command, and returns its output.
 * @throws Error with the output if the command fails
 */
function run(cwd: string, command: string, ...args: string[]): string {
  const env = { ...installed.env, NO_COLOR: '1', CI: '1' }
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  const output = `${stdout}${stderr}`
  if (status !== 0) throw error ?? new Error(output)
  return output
}
