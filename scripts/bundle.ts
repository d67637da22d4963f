import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packExtension } from '@anthropic-ai/mcpb/cli'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { markPng } from '../src/display/mark-image.ts'
import { iconFile } from './documents.ts'
import { copyPageAssets } from './page-assets.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The icon's width and height in pixels, as extension stores require. */
const iconSide = 512

/** The esbuild options of the bundle. The bench builds its one-tool server with the same options. */
export const bundleOptions = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  // Code that is imported dynamically goes into separate files, so that the stdio server loads little code when it
  // starts.
  splitting: true,
  chunkNames: '[name]-[hash]',
  minifySyntax: true,
  minifyWhitespace: true,
  minifyIdentifiers: false,
  legalComments: 'external',
  // esbuild can't follow the imports in jsonc-parser's default build, so jsonc-parser's ES modules are used instead.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // Optional packages that users install themselves: pg's native addon, and the AI SDK for rehearse --model.
  external: ['pg-native', 'ai', '@ai-sdk/*'],
  // CommonJS packages (pino, pg) call `require` for Node's built-in modules. ES modules have no `require`, so this
  // banner creates one.
  banner: {
    js: "import{createRequire as bundleRequire}from'node:module';const require=bundleRequire(import.meta.url);",
  },
  logLevel: 'warning',
} as const satisfies BuildOptions

const stdioFile = join(root, 'src/commands/stdio.ts')
/** The files that run before `stdio.ts` is loaded. The plugin below must not add an import of `stdio.ts` to them. */
const earlierFiles = [join(root, 'src/cli.ts'), join(root, 'src/commands/start-memory.ts')]

/**
 * Puts all code that the stdio server needs to start into one file, which loads faster than about twenty small files.
 * esbuild puts two modules into the same file if exactly the same dynamic imports lead to both. So the plugin adds an
 * import of `stdio.ts` to every dynamically imported file. Then every dynamic import leads to all the code that
 * `stdio.ts` needs, and this code ends up in one file.
 */
const startInOneFile: Plugin = {
  name: 'the start in one file',
  setup: ({ onResolve, onLoad }) => {
    const imported = new Set<string>()
    onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      const file = resolve(resolveDir, path)
      if (kind === 'dynamic-import' && file !== stdioFile && !earlierFiles.includes(file)) imported.add(file)
      return undefined
    })
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
      if (!imported.has(path)) return undefined
      return { contents: `import ${JSON.stringify(stdioFile)}\n${readFileSync(path, 'utf8')}`, loader: 'ts' }
    })
  },
}

interface Bundle {
  entry: string
  folder: string
}

/** Empties `folder`, bundles `entry` into the file server/cli.js in it, and adds the other files of an MCPB bundle. */
export async function bundle({ entry, folder }: Bundle): Promise<void> {
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
  cpSync(join(root, 'skills'), join(folder, 'skills'), { recursive: true })
  for (const file of ['manifest.json', 'LICENSE']) copyFileSync(join(root, file), join(folder, file))
  writeFileSync(join(folder, iconFile), markPng(iconSide))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n')
}

/**
 * Packs a bundle's folder into one MCPB file, which AI hosts can install.
 * @throws Error if the folder's manifest.json is invalid.
 */
export async function packBundle({ folder, file }: { folder: string; file: string }): Promise<void> {
  const isPacked = await packExtension({ extensionPath: folder, outputPath: file, silent: true })
  if (!isPacked) throw new Error(`${folder} could not be packed. To see the reason, run: mcpb pack ${folder}`)
}

if (import.meta.main) {
  const folder = join(root, 'bundle')
  const file = join(root, 'payments-mcp.mcpb')
  await bundle({ entry: join(root, 'src/cli.ts'), folder })
  await packBundle({ folder, file })
  console.log(`Built ${folder} and ${file} (${(statSync(file).size / 1e6).toFixed(1)} MB).`)
}
