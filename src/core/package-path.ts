import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtin } from './builtin.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/**
 * Finds a file or folder of the package; returns undefined if there is none. Searches the folder of this code, then its
 * parent folders, because source, compiled and bundled code are at different depths. A bundle contains only the files
 * that a host needs.
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
