import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtin } from './builtin.ts'

const files = builtin<typeof import('node:fs')>('node:fs')

/**
 * Returns the folder of the package's skills: the nearest one of that name above this code, be it source, compiled or
 * bundled.
 */
export function skillsFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!files().existsSync(join(folder, 'skills'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('Bug: the package has no skills.')
    folder = parent
  }
  return join(folder, 'skills')
}
