import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Start } from '../core/host-setups.ts'

/** The real path of the file that this process was started with: a link to it may be removed later. */
const cli = realpathSync(process.argv[1] ?? fileURLToPath(import.meta.url))

/** Returns the command with which an AI host starts this checkout or installation, under the current Node.js. */
export function startCommand(env: Start['env']): Start {
  return { command: process.execPath, args: [cli], env }
}

/** Returns the command line with which a person runs a command of this checkout or installation. */
export function commandLine(command: string, args: readonly string[] = []): string {
  const shownArgs = args.map((arg) => ` ${/^[\w./:@%+=-]+$/.test(arg) ? arg : JSON.stringify(arg)}`).join('')
  if (!cli.endsWith('.ts')) return `payments-mcp ${command}${shownArgs}`
  return `${command === 'serve' ? 'npm start' : `npm run ${command}`}${shownArgs === '' ? '' : ` --${shownArgs}`}`
}
