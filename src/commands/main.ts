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
  // An unknown command arrives as an argument of the MCP server over stdio, which takes no arguments.
  withSettings(program, 'stdio')
    .argument('[command]')
    .configureHelp({ visibleArguments: () => [] })
    .action(async (word: string | undefined, ...actionArguments: unknown[]) => {
      if (word !== undefined) return explainErrors(() => Promise.reject(unknownCommand(word, names())))
      await runAction(async () => (await import('./stdio.ts')).stdio)(...actionArguments)
    })
  withSettings(program.command('serve'), 'serve')
    .description('Run the sandbox as an HTTP server.')
    .option('--json', 'Print only one line of JSON when it is ready, with its address and keys')
    .action(runAction(async () => (await import('./serve.ts')).serve))
  withSettings(program.command('setup'), 'setup')
    .description("Add the MCP server to an AI host's configuration, after showing the change.")
    .argument('[host]', hostNames.join(', '))
    .option('--http', 'Write the address of a running serve, instead of the command that starts the server')
    .option('--yes', 'Write without asking')
    .option('--skills', 'Also copy the skills (instructions for tasks) to the folder where the host looks for them')
    .action(runAction(async () => (await import('./setup.ts')).setup))
  withSettings(program.command('doctor'), 'doctor')
    .description('Check Node.js, database, port, key, login, clock and AI hosts, and advise what to fix.')
    .action(runAction(async () => (await import('./doctor.ts')).doctor))
  const simulation = withSettings(program.command('simulate'), 'simulate')
    .description('Run simulated agents that make card purchases through MCP, and check every answer.')
    .addHelpText('after', simulateHelp)
    .action(runAction(async () => (await import('./simulate.ts')).simulate))
  for (const [flags, meaning, fallback] of simulateOptions) simulation.option(flags, meaning, fallback)
  const rehearsal = program
    .command('rehearse')
    .description('Rehearse an agent that spends money: each scenario has its own sandbox, and the ledger is the judge.')
    .addHelpText('after', rehearseHelp)
    .action(async (flags: RehearseFlags) => (await import('./rehearse.ts')).rehearse(flags))
  for (const [flags, meaning, fallback] of rehearseOptions) rehearsal.option(flags, meaning, fallback)
  withSettings(program.command('bridge'), 'bridge')
    .description('Forward MCP over stdio to an MCP endpoint over HTTP, for AI hosts that can only start servers.')
    .argument('[url]', 'The address of the endpoint, such as https://payments.example/mcp')
    .action(runAction(async () => (await import('./bridge.ts')).bridge))
  withDatabaseCommands(program)
  withSignIn(program)
  withConsole(program)
  withListening(program)
  withoutSettings(program)
  await program.parseAsync(argv)
}

/** Adds the commands that manage the login that the MCP server uses. */
function withSignIn(program: Command): void {
  withSettings(program.command('login'), 'login')
    .description('Sign in at a payments API in a browser. The MCP server then uses this login.')
    .option('--device', 'Sign in with a code on another device, for a machine without a browser')
    .option('--client-credentials', 'Sign in as an application that was registered for this, without a person')
    .option('--enterprise', "Sign in through a company's identity provider, which vouches for the person")
    .option('--client-id <id>', 'With --client-credentials or --enterprise: the client id of the application')
    .option('--proof-file <file>', 'With --client-id: the file with its secret, or its private key in PEM')
    .option('--idp <url>', 'With --enterprise: the address of the identity provider')
    .option('--idp-client-id <id>', 'With --enterprise: the client id of this machine at the provider')
    .option('--idp-proof-file <file>', 'With --enterprise: the file with the secret of that client, if it has one')
    .option('--id-token-file <file>', "With --enterprise: the file with the person's ID token from the provider")
    .action(runAction(async () => (await import('./login.ts')).login))
  withSettings(program.command('logout'), 'logout')
    .description('Sign out of a payments API, and delete the login from this machine.')
    .action(runAction(async () => (await import('./logout.ts')).logout))
  withSettings(program.command('whoami'), 'whoami')
    .description('Show whom the MCP server acts as.')
    .action(runAction(async () => (await import('./whoami.ts')).whoami))
}

/** Adds the commands with which an operator changes the database. */
function withDatabaseCommands(program: Command): void {
  withSettings(program.command('rotate-keys'), 'rotate-keys')
    .description('Create new keys in the database. Everything made with older keys stays valid.')
    .option('--retire', 'Also remove the older root keys, after encrypting everything made with them again')
    .action(runAction(async () => (await import('./rotate-keys.ts')).rotateKeys))
  withSettings(program.command('reset-second-factor'), 'reset-second-factor')
    .description('Remove the authenticator app that a user lost, in the database, so that they can set up another.')
    .requiredOption('--email <address>', 'The address that the user signs in with')
    .action(runAction(async () => (await import('./reset-second-factor.ts')).resetAuthenticator))
}

function withConsole(program: Command): void {
  withSettings(program.command('console'), 'console')
    .description('Open the console, which shows what agents do and spend, on the database of the MCP server.')
    .option('--json', 'Print only one line of JSON, with its address')
    .option('--no-open', 'Do not open a browser')
    .action(runAction(async () => (await import('./console.ts')).openConsole))
  withReports(program)
}

function withReports(program: Command): void {
  withSettings(program.command('report'), 'report')
    .description('Write the report of a run of an agent. payments-mcp verify can recompute its figures.')
    .requiredOption('--run <id>', 'The id of the run (run_…), or its instance id')
    .option('--format <name>', 'html, md or json; md on a terminal, html elsewhere')
    .option('--output <file>', 'The file to write, instead of stdout')
    .option('--party <id>', 'The party of the run, if several parties have a run with that instance id')
    .action(runAction(async () => (await import('./report.ts')).report))
  withSettings(program.command('verify'), 'verify')
    .description('Recompute the figures and the activity chain of a report that payments-mcp report wrote.')
    .argument('<file>', 'The report, in any of its formats; - for stdin')
    .option('--against-database', 'Also compare with the chain in the configured database; --database-url implies this')
    .action(runAction(async () => (await import('./verify.ts')).verify))
}

function withListening(program: Command): void {
  withSettings(program.command('listen'), 'listen')
    .description('Print the events of your records as they happen, and forward each as a webhook would.')
    .option('--forward-to <url>', 'Send each event, signed, to this address: https, or http on this machine')
    .option('--events <list>', 'Only these types, such as payment.completed,approval.required')
    .option('--since <id>', 'Continue after that event (evt_…); oldest: start with the oldest stored one')
    .option('--count <number>', 'Stop after this many events')
    .option('--json', 'Print each event as a line of JSON, as a webhook sends it')
    .action(runAction(async () => (await import('./listen.ts')).listen))
  withInit(program)
}

function withInit(program: Command): void {
  withSettings(program.command('init'), 'init')
    .description('Write a commented world file for the sandbox, or create the first party of a production database.')
    .argument('[file]', 'The new world file; - for stdout (default: world.yaml)')
    .option('--production', 'Create the first party and its owner in the configured database, without money')
    .option('--email <address>', 'With --production: the address with which the owner signs in')
    .option('--name <name>', 'With --production: the name of the party (default: Organization)')
    .action(runAction(async () => (await import('./init.ts')).init))
}

/** Adds the commands that read no settings. */
function withoutSettings(program: Command): void {
  program
    .command('help')
    .description('Show the help of a command, or all settings: payments-mcp help settings.')
    .argument('[topic]', 'A command, or settings')
    .action((topic: string | undefined) => explainErrors(async () => showHelp(program, topic)))
  program
    .command('completion')
    .description('Print the script that completes commands and flags in a shell.')
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

/** Loads the module of a command when the command runs. */
function runAction<Given extends Flags>(load: () => Promise<(flags: Given, argument?: string) => Promise<void>>) {
  return async (...actionArguments: unknown[]) => {
    const command = actionArguments.at(-1) as Command
    const run = await load()
    await run(command.optsWithGlobals<Given>(), command.args[0])
  }
}

/**
 * Adds a flag for every setting, so that the command can name a flag that it does not read. `help settings` describes
 * them.
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

/** Suggests a setting's flag: the help hides these flags, so commander does not suggest them. */
function withNearest(line: string): string {
  const unknown = /^unknown option '(--[^']+)'$/.exec(line)?.[1]
  const flags = settings.map(({ flag }) => flag)
  const nearestFlag = unknown === undefined ? undefined : nearestWord(unknown, flags)
  return nearestFlag === undefined ? line : `${line} (Did you mean ${nearestFlag}?)`
}
