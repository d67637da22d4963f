import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPackage } from '../../scripts/build.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The package as users get it: packed by npm, and then installed by npm in an empty folder. */
export interface InstalledPackage {
  folder: string
  /** The paths of the files in the package. */
  files: string[]
  /** The environment variables for the package's programs: this Node.js in PATH, an empty home, and npm offline. */
  env: Record<string, string>
  remove(): void
}

export function installPackage(): InstalledPackage {
  const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-package-'))
  const [staging, folder, home] = ['staging', 'folder', 'home'].map((name) => join(directory, name)) as Folders
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: home,
    XDG_DATA_HOME: home,
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    NODE_NO_WARNINGS: '1',
  }
  const npm = (...args: string[]) =>
    execFileSync('npm', [...args, '--loglevel=error'], { cwd: folder, env, encoding: 'utf8' })
  mkdirSync(home)
  mkdirSync(folder)
  stage(staging)
  const [packed] = JSON.parse(npm('pack', staging, '--ignore-scripts', '--json')) as Packed
  linkDependencies(folder)
  npm('install', '--ignore-scripts', '--no-audit', '--no-fund', `./${packed.filename}`)
  return {
    folder,
    files: packed.files.map(({ path }) => path),
    env,
    remove: () => rmSync(directory, { recursive: true }),
  }
}

type Folders = [staging: string, folder: string, home: string]
type Packed = [{ filename: string; files: { path: string }[] }]

/** Copies this repository and builds the package in the copy. The repository's own `dist` does not change. */
function stage(staging: string): void {
  const isExcluded = /\/(node_modules|\.git|dist|bundle|coverage)$|\.mcpb$/
  cpSync(root, staging, { recursive: true, filter: (path) => !isExcluded.test(path) })
  // Skips type checking, which `npm run check` does.
  buildPackage(join(staging, 'dist'), ['--noCheck'])
}

/**
 * Links the package's dependencies in the folder to those in this repository, so that npm needs no network. Programs
 * in the folder can import only these dependencies, and the package itself once it is installed.
 */
function linkDependencies(folder: string): void {
  writeFileSync(join(folder, 'package.json'), '{}')
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
}
