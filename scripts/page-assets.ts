import { cpSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The folders whose files are read at run time, by paths relative to the code next to them. */
const folders = [
  'src/display/styles',
  'src/service/pages/frame/assets',
  'src/mcp/ui/views',
  'src/rehearse/report/page',
  'src/rehearse/scenarios',
] as const

/** Copies these folders into `folder`, which holds the bundled code. */
export function copyPageAssets(folder: string): void {
  for (const path of folders) cpSync(join(root, path), join(folder, basename(path)), { recursive: true })
}

/** Copies the folders into `dist` at their source paths, for code that was compiled file by file. */
export function copyPageAssetsBesideCode(dist: string): void {
  for (const path of folders) cpSync(join(root, path), join(dist, path), { recursive: true })
}
