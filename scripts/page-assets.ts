import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Puts the pages' scripts and styles into `folder`/assets, beside the code that serves them. */
export function copyPageAssets(folder: string): void {
  cpSync(join(root, 'src/service/pages/assets'), join(folder, 'assets'), { recursive: true })
}

if (import.meta.main) copyPageAssets(join(root, 'dist/src/service/pages'))
