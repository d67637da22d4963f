import { Command, Option } from 'commander'
import type { CommandName } from '../config/setting.ts'
import { settings } from '../config/settings.ts'
import { hostNames } from '../core/host-setups.ts'
import { simulateHelp, simulateOptions } from '../simulate/options.ts'
import type { Flags } from './configured.ts'
import { version } from './version.ts'

/** The command line: `payments-mcp [serve | simulate | login | logout | whoami]` with a flag for every variable. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('payments-mcp')
    .description('A payments API as MCP tools, with a complete sandbox. Without a command: an MCP server over stdio.')
    .version(version)
    .configureOutput({ outputError: (text, write) => write(`payments-mcp: ${oneLine(text)}\n`) })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  withSettings(program, 'stdio').action(running(async () => (await import('./stdio.ts')).stdio))
  withSettings(program.command('serve'), 'serve')
    .description('Run the sandbox as an HTTP server.')
    .action(running(async () => (await import('./serve.ts')).serve))
  withSettings(program.command('setup'), 'setup')
    .description("Write the MCP server into an AI host's configuration, after showing what.")
    .argument('[host]', hostNames.join(', '))
    .option('--http', 'Write the address of a serve that runs, instead of what starts the server')
    .option('--yes', 'Write without asking')
    .action(running(async () => (await import('./setup.ts')).setup))
  withSettings(program.command('doctor'), 'doctor')
    .description('Check Node.js, database, port, key, login, clock and AI hosts, and say what to do.')
    .action(running(async () => (await import('./doctor.ts')).doctor))
  const simulation = withSettings(program.command('simulate'), 'simulate')
    .description('Simulated agents make card purchases through MCP, and every answer is checked.')
    .addHelpText('after', simulateHelp)
    .action(running(async () => (await import('./simulate.ts')).simulate))
  for (const [flags, meaning, fallback] of simulateOptions) simulation.option(flags, meaning, fallback)
  withSettings(program.command('rotate-keys'), 'rotate-keys')
    .description('Make new keys in the database of the sandbox; what older ones made stays good.')
    .action(running(async () => (await import('./rotate-keys.ts')).rotateKeys))
  withSettings(program.command('login'), 'login')
    .description('Sign in at a payments API in a browser: the MCP server then acts as who signed in.')
    .option('--device', 'Sign in with a code on another device, for a machine without a browser')
    .action(running(async () => (await import('./login.ts')).login))
  withSettings(program.command('logout'), 'logout')
    .description('End the sign-in at a payments API, there and here.')
    .action(running(async () => (await import('./logout.ts')).logout))
  withSettings(program.command('whoami'), 'whoami')
    .description('Tell whom the MCP server acts as.')
    .action(running(async () => (await import('./whoami.ts')).whoami))
  await program.parseAsync(argv)
}

/** The module of a command is loaded when it runs. */
function running<Given extends Flags>(load: () => Promise<(flags: Given, argument?: string) => Promise<void>>) {
  return async (...given: unknown[]) => {
    const command = given.at(-1) as Command
    const run = await load()
    await run(command.optsWithGlobals<Given>(), command.args[0])
  }
}

/** Every setting is understood, so that the command can say which it does not read; its help lists the others. */
function withSettings(command: Command, name: CommandName): Command {
  for (const { flag, placeholder, meaning, shown, variable, readBy } of settings) {
    const option = new Option(`${flag} <${placeholder}>`, `${meaning} (${variable}; default: ${shown})`)
    command.addOption(option.hideHelp(!readBy.includes(name)))
  }
  return command
}

function oneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim()
}
