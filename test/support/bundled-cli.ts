import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeep } from './depth.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The file that tests start as the command line. Starting it from one bundle takes a third of what some 600 files of source
 * take, and tests start it some 150 times. The deep run starts it from its source.
 */
export async function commandLineFile(): Promise<string> {
  const source = join(root, 'src/cli.ts')
  return isDeep ? source : join(await bundled(source), 'server/cli.js')
}

/** Named by its contents: a test run beside this one shares it, and Node.js finds it in its compile cache again. */
async function bundled(entry: string): Promise<string> {
  // The bundler takes half a second to load, which a run without the command line is spared.
  const { bundle } = await import('../../scripts/bundle.ts')
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
