import { Command, Option } from 'commander'
import { type ConfigSources, settings } from '../config.ts'
import { simulateHelp, simulateOptions } from '../simulate/options.ts'
import { version } from './version.ts'

type Flags = NonNullable<ConfigSources['flags']>

/** The command line: `payments-mcp [serve | simulate | login | logout | whoami]` with a flag for every variable. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('payments-mcp')
    .description('A payments API as MCP tools, with a complete sandbox. Without a command: an MCP server over stdio.')
    .version(version)
    .showHelpAfterError('(payments-mcp --help lists what there is)')
  withSettings(program).action(async (_options, command: Command) => {
    const { stdio } = await import('./stdio.ts')
    await stdio(command.optsWithGlobals<Flags>())
  })
  withSettings(program.command('serve'))
    .description('Run the sandbox as an HTTP server.')
    .action(async (_options, command: Command) => {
      const { serve } = await import('./serve.ts')
      await serve(command.optsWithGlobals<Flags>())
    })
  const simulation = withSettings(program.command('simulate'))
    .description('Simulated agents make card purchases through MCP, and every answer is checked.')
    .addHelpText('after', simulateHelp)
    .action(async (_options, command: Command) => {
      const { simulate } = await import('./simulate.ts')
      await simulate(command.optsWithGlobals())
    })
  for (const [flags, meaning, fallback] of simulateOptions) simulation.option(flags, meaning, fallback)
  withSettings(program.command('login'))
    .description('Sign in at a payments API in a browser: the MCP server then acts as who signed in.')
    .option('--device', 'Sign in with a code on another device, for a machine without a browser')
    .action(async (_options, command: Command) => {
      const { login } = await import('./login.ts')
      await login(command.optsWithGlobals())
    })
  withSettings(program.command('logout'))
    .description('End the sign-in at a payments API, there and here.')
    .action(async (_options, command: Command) => {
      const { logout } = await import('./logout.ts')
      await logout(command.optsWithGlobals<Flags>())
    })
  withSettings(program.command('whoami'))
    .description('Tell whom the MCP server acts as.')
    .action(async (_options, command: Command) => {
      const { whoami } = await import('./whoami.ts')
      await whoami(command.optsWithGlobals<Flags>())
    })
  await program.parseAsync(argv)
}

function withSettings(command: Command): Command {
  for (const { flag, placeholder, meaning, shown, variable } of settings) {
    command.addOption(new Option(`${flag} <${placeholder}>`, `${meaning} (${variable}; default: ${shown})`))
  }
  return command
}
