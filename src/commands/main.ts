import { Command, Option } from 'commander'
import type { ConfigSources } from '../config.ts'
import { settings } from '../settings.ts'
import { simulateHelp, simulateOptions } from '../simulate/options.ts'
import { version } from './version.ts'

export type Flags = NonNullable<ConfigSources['flags']>

/** The command line: `payments-mcp [serve | simulate | login | logout | whoami]` with a flag for every variable. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('payments-mcp')
    .description('A payments API as MCP tools, with a complete sandbox. Without a command: an MCP server over stdio.')
    .version(version)
    .showHelpAfterError('(payments-mcp --help lists what there is)')
  withSettings(program).action(running(async () => (await import('./stdio.ts')).stdio))
  withSettings(program.command('serve'))
    .description('Run the sandbox as an HTTP server.')
    .action(running(async () => (await import('./serve.ts')).serve))
  const simulation = withSettings(program.command('simulate'))
    .description('Simulated agents make card purchases through MCP, and every answer is checked.')
    .addHelpText('after', simulateHelp)
    .action(running(async () => (await import('./simulate.ts')).simulate))
  for (const [flags, meaning, fallback] of simulateOptions) simulation.option(flags, meaning, fallback)
  withSettings(program.command('login'))
    .description('Sign in at a payments API in a browser: the MCP server then acts as who signed in.')
    .option('--device', 'Sign in with a code on another device, for a machine without a browser')
    .action(running(async () => (await import('./login.ts')).login))
  withSettings(program.command('logout'))
    .description('End the sign-in at a payments API, there and here.')
    .action(running(async () => (await import('./logout.ts')).logout))
  withSettings(program.command('whoami'))
    .description('Tell whom the MCP server acts as.')
    .action(running(async () => (await import('./whoami.ts')).whoami))
  await program.parseAsync(argv)
}

/** The module of a command is loaded when it runs. */
function running<Given extends Flags>(load: () => Promise<(flags: Given) => Promise<void>>) {
  return async (_options: unknown, command: Command) => {
    const run = await load()
    await run(command.optsWithGlobals<Given>())
  }
}

function withSettings(command: Command): Command {
  for (const { flag, placeholder, meaning, shown, variable } of settings) {
    command.addOption(new Option(`${flag} <${placeholder}>`, `${meaning} (${variable}; default: ${shown})`))
  }
  return command
}
