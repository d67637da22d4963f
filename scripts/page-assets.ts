import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { viewerFiles } from '../src/service/pages/docs/viewer.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The folders whose files are read at run time, by addresses relative to the code beside them. */
const folders = [
  'src/service/pages/frame/assets',
  'src/mcp/ui/views',
  'src/rehearse/report/page',
  'src/rehearse/scenarios',
] as const

/** Puts them into `folder`, which holds the bundled code. */
export function copyPageAssets(folder: string): void {
  for (const path of folders) cpSync(join(root, path), join(folder, basename(path)), { recursive: true })
}

/** The same for code that was compiled file by file: each folder where its code expects it. */
export function copyPageAssetsBesideCode(dist: string): void {
  for (const path of folders) cpSync(join(root, path), join(dist, path), { recursive: true })
  copyViewer(join(dist, 'src/service/pages/docs'))
}

/**
 * Puts the viewer of the API's documentation beside the code in `folder`, with its license. A package that is installed
 * brings it so, and none of what the viewer's own package brings.
 */
export function copyViewer(folder: string): void {
  mkdirSync(join(folder, 'viewer'), { recursive: true })
  for (const name of [...viewerFiles, 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE'])
    copyFileSync(join(root, 'node_modules/swagger-ui-dist', name), join(folder, 'viewer', name))
}
