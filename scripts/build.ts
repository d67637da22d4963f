import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyPageAssetsBesideCode } from './page-assets.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Compiles the package into `folder`. Empties the folder first, because files of an earlier build would otherwise be
 * published too.
 */
export function buildPackage(folder: string, compilerOptions: readonly string[] = []): void {
  rmSync(folder, { recursive: true, force: true })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['-p', 'tsconfig.build.json', '--outDir', folder, ...compilerOptions]
  execFileSync(process.execPath, [compiler, ...options], { cwd: root, stdio: 'inherit' })
  copyPageAssetsBesideCode(folder)
}

if (import.meta.main) buildPackage(join(root, 'dist'))
