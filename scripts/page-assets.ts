import { cpSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Each of these folders contains files that the code next to the folder reads at run time. */
const folders = [
  'src/display/styles',
  'src/service/pages/frame/assets',
  'src/mcp/ui/views',
  'src/rehearse/report/page',
  'src/rehearse/scenarios',
] as const

/** Copies the asset folders into `folder`, next to the bundled code. */
export function copyPageAssets(folder: string): void {
  for (const path of folders) cpSync(join(root, path), join(folder, basename(path)), { recursive: true })
}

/** Copies the asset folders into `dist` under their source paths, next to code that was compiled file by file. */
export function copyPageAssetsBesideCode(dist: string): void {
  for (const path of folders) cpSync(join(root, path), join(dist, path), { recursive: true })
}
