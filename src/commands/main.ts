import { Command, Option } from 'commander'
import type { CommandName } from '../config/setting.ts'
import { settings } from '../config/settings.ts'
import { hostNames } from '../core/host-setups.ts'
import { nearest } from '../core/spelling.ts'
import { rehearseHelp, rehearseOptions } from '../rehearse/options.ts'
import { simulateHelp, simulateOptions } from '../simulate/options.ts'
import type { Flags } from './command-config.ts'
import { orExplain } from './explain.ts'
import { helpAfter, noCommand, settingsHelp } from './help.ts'
import type { RehearseFlags } from './rehearse.ts'
import { version } from './version.ts'

/** Runs the command line: `payments-mcp [command]` with a flag for every variable. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('payments-mcp')
    .description('A payments API as MCP tools, with a complete sandbox. Without a command: an MCP server over stdio.')
    .version(version)
    .configureOutput({ outputError: (text, write) => write(`payments-mcp: ${withNearest(oneLine(text))}\n`) })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .usage('[command] [options]')
    .helpCommand(false)
  const names = () => program.commands.map((command) => command.name())
  // A word that is no command arrives as an argument of the MCP server over stdio, which takes none.
  withSettings(program, 'stdio')
    .argument('[command]')
    .configureHelp({ visibleArguments: () => [] })
    .action(async (word: string | undefined, ...given: unknown[]) => {
      if (word !== undefined) return orExplain(() => Promise.reject(noCommand(word, names())))
      await running(async () => (await import('./stdio.ts')).stdio)(...given)
    })
  withSettings(program.command('serve'), 'serve')
    .description('Run the sandbox as an HTTP server.')
    .option('--json', 'Print one line of JSON when it is ready, with its address and keys, and nothing else')
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
  const rehearsal = program
    .command('rehearse')
    .description('Rehearse an agent that spends money: scenarios in sandboxes of their own, judged by the ledger.')
    .addHelpText('after', rehearseHelp)
    .action(async (flags: RehearseFlags) => (await import('./rehearse.ts')).rehearse(flags))
  for (const [flags, meaning, fallback] of rehearseOptions) rehearsal.option(flags, meaning, fallback)
  withSettings(program.command('bridge'), 'bridge')
    .description('MCP over stdio, passed on to an MCP endpoint over HTTP: for AI hosts that only start servers.')
    .argument('[url]', 'The address of the endpoint, such as https://payments.example/mcp')
    .action(running(async () => (await import('./bridge.ts')).bridge))
  withDatabaseCommands(program)
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
  withConsole(program)
  withListening(program)
  withoutSettings(program)
  await program.parseAsync(argv)
}

/** Adds the commands for the service's operator, on its database. */
function withDatabaseCommands(program: Command): void {
  withSettings(program.command('rotate-keys'), 'rotate-keys')
    .description('Make new keys in the database of the sandbox; what older ones made stays good.')
    .option('--retire', 'Also remove the older root keys, after what they made is sealed anew')
    .action(running(async () => (await import('./rotate-keys.ts')).rotateKeys))
  withSettings(program.command('reset-second-factor'), 'reset-second-factor')
    .description('Remove the authenticator app that a user lost, in the database, so that they can set up another.')
    .requiredOption('--email <address>', 'The address that the user signs in with')
    .action(running(async () => (await import('./reset-second-factor.ts')).resetAuthenticator))
}

function withConsole(program: Command): void {
  withSettings(program.command('console'), 'console')
    .description('Open the console in a browser: what agents do and spend, on the database of the MCP server.')
    .option('--json', 'Print one line of JSON with its address, and nothing else')
    .option('--no-open', 'Open no browser')
    .action(running(async () => (await import('./console.ts')).openConsole))
  withReports(program)
}

function withReports(program: Command): void {
  withSettings(program.command('report'), 'report')
    .description('Tell what a run of an agent came to, in a file whose figures payments-mcp verify recomputes.')
    .requiredOption('--run <id>', 'The instance id of the run, or its own (run_…)')
    .option('--format <name>', 'html, md or json; md on a terminal, html elsewhere')
    .option('--output <file>', 'Where to, instead of stdout')
    .option('--party <id>', 'Whose run it is, where several parties have one of that instance id')
    .action(running(async () => (await import('./report.ts')).report))
  withSettings(program.command('verify'), 'verify')
    .description('Recompute the figures and the chain of activity of a report of payments-mcp report.')
    .argument('<file>', 'The report, in any of its formats; - for stdin')
    .option('--against-database', 'Compare with the chain in the database too, as --database-url does')
    .action(running(async () => (await import('./verify.ts')).verify))
}

function withListening(program: Command): void {
  withSettings(program.command('listen'), 'listen')
    .description('Print the events of your records as they happen, and forward each as a webhook would.')
    .option('--forward-to <url>', 'Where each is sent, signed: https, or http on this machine')
    .option('--events <list>', 'Only these types, such as payment.completed,approval.required')
    .option('--since <id>', 'Go on after that event (evt_…); oldest: with the first that is kept')
    .option('--count <number>', 'End after so many')
    .option('--json', 'Print each event as a line of JSON, as a webhook sends it')
    .action(running(async () => (await import('./listen.ts')).listen))
  withInit(program)
}

function withInit(program: Command): void {
  withSettings(program.command('init'), 'init')
    .description('Write a world file, commented, for the sandbox; or make the first party of a production database.')
    .argument('[file]', 'Where the world file goes, a new file; - for stdout (default: world.yaml)')
    .option('--production', 'Make the first party and its owner in the configured database, without money')
    .option('--email <address>', 'With --production: the owner, who signs in by it')
    .option('--name <name>', 'With --production: what the party is called (default: Organization)')
    .action(running(async () => (await import('./init.ts')).init))
}

/** Adds the commands that read no settings. */
function withoutSettings(program: Command): void {
  program
    .command('help')
    .description('Show the help of a command, or all settings: payments-mcp help settings.')
    .argument('[topic]', 'A command, or settings')
    .action((topic: string | undefined) => orExplain(async () => showHelp(program, topic)))
}

function showHelp(program: Command, topic: string | undefined): void {
  const names = program.commands.map((command) => command.name())
  const command = topic === undefined ? program : program.commands.find((known) => known.name() === topic)
  if (topic === 'settings') process.stdout.write(settingsHelp())
  else if (command === undefined) throw noCommand(topic ?? '', [...names, 'settings'])
  else command.outputHelp()
}

/** Loads the module of a command when the command runs. */
function running<Given extends Flags>(load: () => Promise<(flags: Given, argument?: string) => Promise<void>>) {
  return async (...given: unknown[]) => {
    const command = given.at(-1) as Command
    const run = await load()
    await run(command.optsWithGlobals<Given>(), command.args[0])
  }
}

/** Parses every setting, so that the command can say which ones it does not read; `help settings` describes them. */
function withSettings(command: Command, name: CommandName): Command {
  for (const { flag, placeholder } of settings) command.addOption(new Option(`${flag} <${placeholder}>`).hideHelp())
  return command.addHelpText('after', helpAfter(name))
}

function oneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim()
}

/** Suggests a setting's flag: the help hides these flags, so commander does not suggest them. */
function withNearest(line: string): string {
  const unknown = /^unknown option '(--[^']+)'$/.exec(line)?.[1]
  const flags = settings.map(({ flag }) => flag)
  const meant = unknown === undefined ? undefined : nearest(unknown, flags)
  return meant === undefined ? line : `${line} (Did you mean ${meant}?)`
}
