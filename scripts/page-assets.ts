import { cpSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The folders of files that the code next to them reads at run time. */
const folders = [
  'src/display/styles',
  'src/service/pages/frame/assets',
  'src/mcp/ui/views',
  'src/rehearse/report/page',
  'src/rehearse/scenarios',
] as const

/** Copies the folders into `folder`, next to the bundled code. */
export function copyPageAssets(folder: string): void {
  for (const path of folders) cpSync(join(root, path), join(folder, basename(path)), { recursive: true })
}

/** Copies the folders into `dist` under their source paths, next to code that was compiled file by file. */
export function copyPageAssetsBesideCode(dist: string): void {
  for (const path of folders) cpSync(join(root, path), join(dist, path), { recursive: true })
}
