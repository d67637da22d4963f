import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packExtension } from '@anthropic-ai/mcpb/cli'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { markPng } from '../src/core/mark-image.ts'
import { iconFile } from './documents.ts'
import { copyPageAssets, copyViewer } from './page-assets.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Pixels a side: what stores of extensions ask for. */
const iconSide = 512

/** How the bundle is built; the bench builds its one-tool server in the same way. */
export const bundleOptions = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  // A dynamic import becomes a file of its own, so that the stdio start loads little.
  splitting: true,
  chunkNames: '[name]-[hash]',
  minifySyntax: true,
  minifyWhitespace: true,
  minifyIdentifiers: false,
  legalComments: 'external',
  // Its CommonJS is wrapped so that no bundler finds its parts; it has them as modules too.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // pg loads it only when asked to; it is a native addon and not installed.
  external: ['pg-native'],
  // Packages in CommonJS (pino, pg) require Node's own modules, which an ES module cannot without this.
  banner: {
    js: "import{createRequire as bundleRequire}from'node:module';const require=bundleRequire(import.meta.url);",
  },
  logLevel: 'warning',
} as const satisfies BuildOptions

const start = join(root, 'src/commands/stdio.ts')
/** Runs before it is known whether this Node can load the rest. */
const before = [join(root, 'src/cli.ts'), join(root, 'src/commands/start-memory.ts')]

/**
 * Puts what the stdio start loads into one file, where it would be in some twenty, each of which has to be found, read
 * and linked. esbuild keeps together what the same dynamic imports lead to; so each of ours leads to the start as well.
 */
const startInOneFile: Plugin = {
  name: 'the start in one file',
  setup: ({ onResolve, onLoad }) => {
    const imported = new Set<string>()
    onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      const file = resolve(resolveDir, path)
      if (kind === 'dynamic-import' && file !== start && !before.includes(file)) imported.add(file)
      return undefined
    })
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      if (!imported.has(path)) return undefined
      return { contents: `import ${JSON.stringify(start)}\n${readFileSync(path, 'utf8')}`, loader: 'ts' }
    })
  },
}

interface Bundle {
  entry: string
  folder: string
  /** Whether it is to run where no package is installed. */
  alone?: boolean
}

/** Builds `folder`/server/cli.js and what it loads from `entry`; the folder is emptied first. */
export async function bundle({ entry, folder, alone = true }: Bundle): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build({
    ...bundleOptions,
    absWorkingDir: root,
    entryPoints: { cli: entry },
    outdir: join(folder, 'server'),
    plugins: [startInOneFile],
  })
  copyPageAssets(join(folder, 'server'))
  if (alone) copyViewer(join(folder, 'server'))
  for (const file of ['manifest.json', 'LICENSE']) copyFileSync(join(root, file), join(folder, file))
  writeFileSync(join(folder, iconFile), markPng(iconSide))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n')
}

/** Puts a bundle's folder into one file that AI hosts install (MCPB). @throws Error when its manifest is not valid. */
export async function packBundle({ folder, file }: { folder: string; file: string }): Promise<void> {
  const isPacked = await packExtension({ extensionPath: folder, outputPath: file, silent: true })
  if (!isPacked) throw new Error(`${folder} could not be packed: mcpb pack ${folder} tells why.`)
}

if (import.meta.main) {
  const folder = join(root, 'bundle')
  const file = join(root, 'payments-mcp.mcpb')
  await bundle({ entry: join(root, 'src/cli.ts'), folder })
  await packBundle({ folder, file })
  console.log(`${folder} and ${file} (${(statSync(file).size / 1e6).toFixed(1)} MB) are built.`)
}
