import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The entry point that `npm start` runs. */
export const commandLineSource = join(root, 'src/cli.ts')

/**
 * Bundles the command line for tests, and returns the path of the entry point in the bundle. Tests start the command
 * line hundreds of times, and the bundle starts three times as fast as the 600 source files. In the deep run, some
 * tests start the source instead.
 */
export async function bundledCommandLine(): Promise<string> {
  return join(await bundleInCache(commandLineSource), 'server/cli.js')
}

/**
 * Creates the bundle in a folder that is named after the hash of the bundle. Parallel test runs then share the folder,
 * and Node.js can use its compile cache.
 */
async function bundleInCache(entry: string): Promise<string> {
  // The bundler is imported only here, because importing it takes half a second and many test runs need no bundle.
  const { bundle } = await import('../../scripts/bundle.ts')
  const cache = join(root, 'node_modules/.cache/payments-mcp')
  const temporary = join(cache, `made-by-${process.pid}`)
  await bundle({ entry, folder: temporary })
  const folder = join(cache, hashFolder(temporary))
  try {
    renameSync(temporary, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(temporary, { recursive: true })
  }
  return folder
}

function hashFolder(folder: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    hash.update(name)
    if (/\.\w+$/.test(name)) hash.update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex').slice(0, 16)
}
