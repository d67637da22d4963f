import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Start } from '../core/host-setups.ts'

/** The path of the program file. Symbolic links in the path are resolved, because a link may be removed later. */
const cli = realpathSync(process.argv[1] ?? fileURLToPath(import.meta.url))

/** Returns the command with which an AI host starts this copy of the MCP server on the current Node.js. */
export function startCommand(env: Start['env']): Start {
  return { command: process.execPath, args: [cli], env }
}

/** Returns the command line with which a person runs a command of this copy of payments-mcp. */
export function commandLine(command: string, args: readonly string[] = []): string {
  const shownArgs = args.map((arg) => ` ${/^[\w./:@%+=-]+$/.test(arg) ? arg : JSON.stringify(arg)}`).join('')
  if (!cli.endsWith('.ts')) return `payments-mcp ${command}${shownArgs}`
  return `${command === 'serve' ? 'npm start' : `npm run ${command}`}${shownArgs === '' ? '' : ` --${shownArgs}`}`
}
