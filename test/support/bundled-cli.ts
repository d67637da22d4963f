import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { bundle } from '../../scripts/bundle.ts'
import { isDeep } from './depth.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The file that tests start as the command line. */
    cli: string
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Starting the command line from one bundle takes a third of what some 600 files of source take, and tests start it
 * some 150 times. The deep run starts it from its source.
 */
export async function setup(project: TestProject): Promise<void> {
  const source = join(root, 'src/cli.ts')
  project.provide('cli', isDeep ? source : join(await bundled(source), 'server/cli.js'))
}

/** Named by its contents: a test run beside this one shares it, and Node.js finds it in its compile cache again. */
async function bundled(entry: string): Promise<string> {
  const cache = join(root, 'node_modules/.cache/payments-mcp')
  const made = join(cache, `made-by-${process.pid}`)
  await bundle({ entry, folder: made, alone: false })
  const folder = join(cache, hashOf(made))
  if (existsSync(folder)) rmSync(made, { recursive: true })
  else renameSync(made, folder)
  return folder
}

function hashOf(folder: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    hash.update(name)
    if (/\.\w+$/.test(name)) hash.update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex').slice(0, 16)
}
