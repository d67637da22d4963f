import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The entry point that `npm start` runs. */
export const commandLineSource = join(root, 'src/cli.ts')

/**
 * Returns the file that tests start as the command line. A bundle starts in a third of the time of some 600 source
 * files, and tests start it hundreds of times. Some tests of the deep run start the source.
 */
export async function bundledCommandLine(): Promise<string> {
  return join(await bundled(commandLineSource), 'server/cli.js')
}

/**
 * Bundles the entry into a folder named by a hash of its content, so that parallel test runs share it, and Node.js
 * finds it in its compile cache.
 */
async function bundled(entry: string): Promise<string> {
  // Loading the bundler takes half a second, and many runs never start the command line.
  const { bundle } = await import('../../scripts/bundle.ts')
  const cache = join(root, 'node_modules/.cache/payments-mcp')
  const temporary = join(cache, `made-by-${process.pid}`)
  await bundle({ entry, folder: temporary })
  const folder = join(cache, hashOf(temporary))
  try {
    renameSync(temporary, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(temporary, { recursive: true })
  }
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
