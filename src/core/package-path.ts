import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtin } from './builtin.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/**
 * Returns the path of a file or folder of the package; undefined if there is none. It is the nearest one in a folder
 * above this code, whether the code is source, compiled or bundled. A bundle contains only the files that a host needs.
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
