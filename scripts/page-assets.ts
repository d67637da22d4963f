import { cpSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The folders whose files are read at run time, by addresses relative to the code beside them. */
const folders = ['src/service/pages/frame/assets', 'src/mcp/ui/views'] as const

/** Puts the files of the hosted pages and of the views in AI hosts into `folder`, which holds the bundled code. */
export function copyPageAssets(folder: string): void {
  for (const path of folders) cpSync(join(root, path), join(folder, basename(path)), { recursive: true })
}

/** The same for code that was compiled file by file: each folder where its code expects it. */
export function copyPageAssetsBesideCode(dist: string): void {
  for (const path of folders) cpSync(join(root, path), join(dist, path), { recursive: true })
}
