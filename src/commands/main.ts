import { Command, Option } from 'commander'
import type { CommandName } from '../config/setting.ts'
import { settings } from '../config/settings.ts'
import { hostNames } from '../core/host-setups.ts'
import { nearestWord } from '../core/spelling.ts'
import { rehearseHelp, rehearseOptions } from '../rehearse/options.ts'
import { simulateHelp, simulateOptions } from '../simulate/options.ts'
import type { Flags } from './command-config.ts'
import { explainErrors } from './explain.ts'
import { helpAfter, settingsHelp, unknownCommand } from './help.ts'
import type { RehearseFlags } from './rehearse.ts'
import { version } from './version.ts'

/** Runs the command line `payments-mcp [command] [options]`. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('payments-mcp')
    .description('A payments API as MCP tools, with a complete sandbox. Without a command, it serves MCP over stdio.')
    .version(version)
    .configureOutput({ outputError: (text, write) => write(`payments-mcp: ${withNearest(oneLine(text))}\n`) })
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .usage('[command] [options]')
    .helpCommand(false)
  const names = () => program.commands.map((command) => command.name())
  // Without a command, the MCP server over stdio runs. It takes no arguments, so an argument is an unknown command.
  withSettings(program, 'stdio')
    .argument('[command]')
    .configureHelp({ visibleArguments: () => [] })
    .action(async (word: string | undefined, ...actionArguments: unknown[]) => {
      if (word !== undefined) return explainErrors(() => Promise.reject(unknownCommand(word, names())))
      await runAction(async () => (await import('./stdio.ts')).stdio)(...actionArguments)
    })
  withSettings(program.command('serve'), 'serve')
    .description('Run the sandbox as an HTTP server.')
    .option('--json', 'Print only one line of JSON, with the address and the keys, when the server is ready')
    .action(runAction(async () => (await import('./serve.ts')).serve))
  withSettings(program.command('setup'), 'setup')
    .description("Add the MCP server to an AI host's configuration, after showing the change.")
    .argument('[host]', hostNames.join(', '))
    .option('--http', 'Let the host connect to a running payments-mcp serve, instead of starting its own server')
    .option('--yes', 'Write without asking')
    .option('--skills', 'Also copy the skills (instructions for tasks) to the folder where the host looks for them')
    .action(runAction(async () => (await import('./setup.ts')).setup))
  withSettings(program.command('doctor'), 'doctor')
    .description('Check Node.js, database, port, key, login, clock and AI hosts, and suggest fixes.')
    .action(runAction(async () => (await import('./doctor.ts')).doctor))
  const simulation = withSettings(program.command('simulate'), 'simulate')
    .description('Run simulated agents that make card purchases through MCP, and check every answer.')
    .addHelpText('after', simulateHelp)
    .action(runAction(async () => (await import('./simulate.ts')).simulate))
  for (const [flags, meaning, fallback] of simulateOptions) simulation.option(flags, meaning, fallback)
  const rehearsal = program
    .command('rehearse')
    .description('Rehearse an agent that spends money. Each trial has its own sandbox and is judged by the ledger.')
    .addHelpText('after', rehearseHelp)
    .action(async (flags: RehearseFlags) => (await import('./rehearse.ts')).rehearse(flags))
  for (const [flags, meaning, fallback] of rehearseOptions) rehearsal.option(flags, meaning, fallback)
  withSettings(program.command('bridge'), 'bridge')
    .description('Forward MCP over stdio to an MCP endpoint over HTTP, for AI hosts that support only local servers.')
    .argument('[url]', 'The address of the endpoint, such as https://payments.example/mcp')
    .action(runAction(async () => (await import('./bridge.ts')).bridge))
  withDatabaseCommands(program)
  withSignIn(program)
  withConsole(program)
  withListening(program)
  withoutSettings(program)
  await program.parseAsync(argv)
}

/** Adds the commands that sign in, sign out, and show the identity under which the MCP server acts. */
function withSignIn(program: Command): void {
  withSettings(program.command('login'), 'login')
    .description('Sign in to a payments API in a browser. The MCP server then uses this login.')
    .option('--device', 'Show a code to sign in with on another device, if this machine has no browser')
    .option('--client-credentials', 'Sign in as a registered application, without a person')
    .option('--enterprise', "Sign in through a company's identity provider, which vouches for the person")
    .option('--client-id <id>', 'With --client-credentials or --enterprise: the client id of the application')
    .option('--proof-file <file>', 'With --client-id: the file with the secret or the private key (PEM) of the client')
    .option('--idp <url>', 'With --enterprise: the address of the identity provider')
    .option('--idp-client-id <id>', 'With --enterprise: the client id of this machine at the identity provider')
    .option('--idp-proof-file <file>', 'With --enterprise: the file with the secret of --idp-client-id, if it has one')
    .option('--id-token-file <file>', "With --enterprise: the file with the person's ID token from the provider")
    .action(runAction(async () => (await import('./login.ts')).login))
  withSettings(program.command('logout'), 'logout')
    .description('Sign out of a payments API, and delete the login from this machine.')
    .action(runAction(async () => (await import('./logout.ts')).logout))
  withSettings(program.command('whoami'), 'whoami')
    .description('Show the identity under which the MCP server acts.')
    .action(runAction(async () => (await import('./whoami.ts')).whoami))
}

/** Adds the commands with which operators change the database. */
function withDatabaseCommands(program: Command): void {
  withSettings(program.command('rotate-keys'), 'rotate-keys')
    .description('Create new keys in the database. Everything made with older keys stays valid.')
    .option('--retire', 'Also remove the older root keys, after re-encrypting everything that needs them')
    .action(runAction(async () => (await import('./rotate-keys.ts')).rotateKeys))
  withSettings(program.command('reset-second-factor'), 'reset-second-factor')
    .description("Remove a user's lost authenticator app from the database, so that the user can set up another.")
    .requiredOption('--email <address>', 'The email address that the user signs in with')
    .action(runAction(async () => (await import('./reset-second-factor.ts')).resetAuthenticator))
}

function withConsole(program: Command): void {
  withSettings(program.command('console'), 'console')
    .description("Open the console, which shows what agents do and spend. It uses the MCP server's database.")
    .option('--json', 'Print only one line of JSON, with the address of the console')
    .option('--no-open', 'Do not open a browser')
    .action(runAction(async () => (await import('./console.ts')).openConsole))
  withReports(program)
}

function withReports(program: Command): void {
  withSettings(program.command('report'), 'report')
    .description('Write the report of a run of an agent. payments-mcp verify can recompute its figures.')
    .requiredOption('--run <id>', 'The id of the run (run_…), or its instance id')
    .option('--format <name>', 'html, md or json (default: md on a terminal, otherwise html)')
    .option('--output <file>', 'The file to write, instead of stdout')
    .option('--party <id>', 'The party of the run, if several parties have a run with that instance id')
    .action(runAction(async () => (await import('./report.ts')).report))
  withSettings(program.command('verify'), 'verify')
    .description('Recompute the figures and the activity chain of a report that payments-mcp report wrote.')
    .argument('<file>', 'The report file, in any format; - for stdin')
    .option('--against-database', 'Also compare the report with the database; --database-url implies this option')
    .action(runAction(async () => (await import('./verify.ts')).verify))
}

function withListening(program: Command): void {
  withSettings(program.command('listen'), 'listen')
    .description('Print the events of your records as they happen, and optionally forward them as a webhook would.')
    .option('--forward-to <url>', 'Send each event, signed, to this address (https, or http on this machine)')
    .option('--events <list>', 'Only events of these types, such as payment.completed,approval.required')
    .option('--since <id>', 'Start after this event (evt_…), or give oldest to start with the oldest stored event')
    .option('--count <number>', 'Stop after this many events')
    .option('--json', 'Print each event as one line of JSON, in the format of webhooks')
    .action(runAction(async () => (await import('./listen.ts')).listen))
  withInit(program)
}

function withInit(program: Command): void {
  withSettings(program.command('init'), 'init')
    .description('Write a commented world file for the sandbox, or create the first party of a production database.')
    .argument('[file]', 'The new world file; - for stdout (default: world.yaml)')
    .option('--production', 'Create the first party and its owner in the configured database, without money')
    .option('--email <address>', 'With --production: the email address that the owner signs in with')
    .option('--name <name>', 'With --production: the name of the party (default: Organization)')
    .action(runAction(async () => (await import('./init.ts')).init))
}

/** Adds the commands that read no settings. */
function withoutSettings(program: Command): void {
  program
    .command('help')
    .description('Show the help of a command, or describe all settings (payments-mcp help settings).')
    .argument('[topic]', 'The name of a command, or the word settings')
    .action((topic: string | undefined) => explainErrors(async () => showHelp(program, topic)))
  program
    .command('completion')
    .description('Print a shell script that completes commands and flags.')
    .argument('<shell>', 'bash, zsh or fish')
    .action((shell: string) =>
      explainErrors(async () => {
        const { completionScript } = await import('./completion.ts')
        process.stdout.write(completionScript(program, shell))
      }),
    )
}

function showHelp(program: Command, topic: string | undefined): void {
  const names = program.commands.map((command) => command.name())
  const command = topic === undefined ? program : program.commands.find((candidate) => candidate.name() === topic)
  if (topic === 'settings') process.stdout.write(settingsHelp())
  else if (command === undefined) throw unknownCommand(topic ?? '', [...names, 'settings'])
  else command.outputHelp()
}

/** Returns an action that loads the module of the command only when the command runs. */
function runAction<Given extends Flags>(load: () => Promise<(flags: Given, argument?: string) => Promise<void>>) {
  return async (...actionArguments: unknown[]) => {
    const command = actionArguments.at(-1) as Command
    const run = await load()
    await run(command.optsWithGlobals<Given>(), command.args[0])
  }
}

/**
 * Adds a flag for every setting, even for a setting that the command does not read, so that an error can explain the
 * flag. The command's help does not describe these flags; `help settings` does.
 */
function withSettings(command: Command, name: CommandName): Command {
  for (const { flag, placeholder } of settings) {
    // A boolean flag without a value means true.
    const value = placeholder === 'boolean' ? '[boolean]' : `<${placeholder}>`
    command.addOption(new Option(`${flag} ${value}`).preset('true').hideHelp())
  }
  return command.addHelpText('after', helpAfter(name))
}

function oneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim()
}

/** Adds the most similar flag of a setting to the error for an unknown flag. Commander suggests no hidden flags. */
function withNearest(line: string): string {
  const unknown = /^unknown option '(--[^']+)'$/.exec(line)?.[1]
  const flags = settings.map(({ flag }) => flag)
  const nearestFlag = unknown === undefined ? undefined : nearestWord(unknown, flags)
  return nearestFlag === undefined ? line : `${line} (Did you mean ${nearestFlag}?)`
}
