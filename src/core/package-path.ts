import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtin } from './builtin.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/**
 * Returns the path of a file or folder of the package. Returns undefined if there is no such file or folder: a bundle
 * contains only the files that a host needs. Searches the folder of this code and then each parent folder, because
 * source, compiled and bundled code are at different depths.
 */
export function packagePath(path: 'skills' | `schemas/${string}`): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!files().existsSync(join(folder, path))) {
    const parent = dirname(folder)
    if (parent === folder) return undefined
    folder = parent
  }
  return join(folder, path)
}
