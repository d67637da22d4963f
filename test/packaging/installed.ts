import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPackage } from '../../scripts/build.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The package that users get: packed by npm, and installed by npm in an empty folder. */
export interface InstalledPackage {
  folder: string
  /** The paths of the files in the package. */
  files: string[]
  /** The environment for its programs: this Node.js, a new home, and no network for npm. */
  env: Record<string, string>
  remove(): void
}

export function installPackage(): InstalledPackage {
  const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-package-'))
  const [staging, folder, home] = ['staging', 'folder', 'home'].map((name) => join(directory, name)) as Places
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

type Places = [staging: string, folder: string, home: string]
type Packed = [{ filename: string; files: { path: string }[] }]

/** Copies this repository and builds it there, so npm selects the files to pack and the repository's `dist` is kept. */
function stage(staging: string): void {
  const isLeftOut = /\/(node_modules|\.git|dist|bundle|coverage)$|\.mcpb$/
  cpSync(root, staging, { recursive: true, filter: (path) => !isLeftOut.test(path) })
  // Types are not checked, because other tests check them.
  buildPackage(join(staging, 'dist'), ['--noCheck'])
}

/**
 * Links the package's dependencies from this repository, so npm needs no network. Programs there can import no other
 * package.
 */
function linkDependencies(folder: string): void {
  writeFileSync(join(folder, 'package.json'), '{}')
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), place)
  }
}
