import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtin } from './builtin.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/**
 * Returns a folder of the package: the nearest one of that name above this code, be it source, compiled or bundled;
 * undefined if there is none. A bundle has only what a host needs.
 */
export function packageFolder(name: 'schemas' | 'skills'): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!files().existsSync(join(folder, name))) {
    const parent = dirname(folder)
    if (parent === folder) return undefined
    folder = parent
  }
  return join(folder, name)
}
