import { isAbsolute, resolve } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError, givenSettings, userMachine } from '../config/load.ts'
import type { Config } from '../config/settings.ts'
import {
  type HostName,
  type HostSetup,
  hostBlock,
  hostNames,
  hostSetups,
  type ServerConnection,
  serverName,
} from '../core/host-setups.ts'
import { maskSecrets } from '../core/masking.ts'
import { firstQuestion } from '../core/product.ts'
import { nearestWord } from '../core/spelling.ts'
import { servedAddress } from './addresses.ts'
import { readFileIfExists, replaceFileAtomically } from './atomic-file.ts'
import { commandConfig, type Flags, refuseEmbeddedProduction } from './command-config.ts'
import { copySkills, skillNames } from './copy-skills.ts'
import { mergedEntry, serverIn, UnreadableFile, withServer } from './edit-host-file.ts'
import { explainErrors } from './explain.ts'
import { hostFiles, isFound } from './host-files.ts'
import { openWorldFile } from './setting-file.ts'
import { commandLine, startCommand } from './start-command.ts'
import { absoluteDatabase } from './welcome.ts'

type SetupFlags = Flags & { yes?: boolean; http?: boolean; skills?: boolean }

/** Adds the MCP server to a host's configuration, after showing the change and asking for confirmation. */
export async function setup(flags: SetupFlags, named?: string): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('setup', flags)
    await openWorldFile(config)
    const connection = connectionOf(config, flags)
    try {
      const name = named === undefined ? await chooseHost() : hostNamed(named)
      if (name === undefined) return
      const isSetUp = await setUp(name, connection, flags.yes === true)
      if (isSetUp) await offerSkills(name, flags)
    } finally {
      terminal?.questions.close()
    }
    if ('start' in connection && config.baseUrl !== undefined) {
      say(`Then sign in once: payments-mcp login --base-url ${config.baseUrl}`)
    }
  })
}

function connectionOf(config: Config, flags: SetupFlags): ServerConnection {
  if (flags.http === true) return { url: `${config.baseUrl ?? config.publicUrl ?? servedAddress(config)}/mcp` }
  refuseEmbeddedProduction(config)
  const env = givenSettings('setup', { flags })
  if ('PAYMENTS_DATABASE_URL' in env) env.PAYMENTS_DATABASE_URL = absoluteDatabase(config.databaseUrl)
  if (config.world !== undefined) env.PAYMENTS_WORLD = resolve(config.world)
  if (config.faults !== undefined) env.PAYMENTS_FAULTS = resolve(config.faults)
  // The entry passes XDG_DATA_HOME on, because a host that is started elsewhere does not get this shell's variables.
  const { XDG_DATA_HOME: folder } = userMachine().env
  if (folder !== undefined && isAbsolute(folder)) env.XDG_DATA_HOME = folder
  return { start: startCommand(env) }
}

function hostNamed(text: string): HostName {
  const name = hostNames.find((hostName) => hostName === text.toLowerCase())
  if (name !== undefined) return name
  const nearestHost = nearestWord(text, hostNames)
  const advice = nearestHost === undefined ? '' : ` (did you mean ${nearestHost}?)`
  throw new ConfigError(`setup got the host ${JSON.stringify(text)}${advice}; it accepts ${hostNames.join(', ')}.`)
}

/** Lists the supported hosts. If a person is at the terminal, asks the person to choose one of them. */
async function chooseHost(): Promise<HostName | undefined> {
  const machine = userMachine()
  const found = await Promise.all(hostNames.map((name) => isFound(name, machine)))
  const line = (name: HostName) =>
    `  ${name.padEnd(15)} ${hostSetups[name].title.padEnd(15)} ${hostFiles[name].path(machine)}`
  const foundHosts = hostNames.filter((_, index) => found[index])
  const others = hostNames.filter((_, index) => !found[index])
  if (foundHosts.length > 0) say(`AI hosts on this machine:\n\n${foundHosts.map(line).join('\n')}\n`)
  if (others.length > 0) say(`Supported, but not found here:\n\n${others.map(line).join('\n')}\n`)
  if (!canAsk()) {
    say(`To choose one, run for example: ${commandLine('setup')} ${foundHosts[0] ?? others[0]}`)
    return undefined
  }
  const answer = (await ask('Which host? (empty: none) ')).trim()
  return answer === '' ? undefined : hostNamed(answer)
}

/** Adds the server to the host's file if the person agrees. Returns whether the file contains the server afterwards. */
async function setUp(name: HostName, connection: ServerConnection, isAgreed: boolean): Promise<boolean> {
  const host: HostSetup = hostSetups[name]
  const path = hostFiles[name].path(userMachine())
  const entry = host.entry(connection)
  const block = hostBlock(name, connection)
  if (entry === null || block === null) throw new ConfigError(`setup --http: ${host.remoteTip}`)
  const { text, next, before, after } = await editHostFile(host, path, entry, block)
  if (next === text) {
    say(`${host.title} is already set up: ${path}`)
    return true
  }
  if (before !== undefined)
    say(`${path} has this entry under ${host.servers}:\n\n${shownEntry(before)}\n\nIt will be replaced with:`)
  else say(`${path} will get this entry under ${host.servers}; the rest of the file stays:`)
  say(`\n${shownEntry(after)}\n`)
  if (!isAgreed && !canAsk()) {
    say(
      'Nothing was written, because only a person at a terminal can confirm the change. To write without asking, use --yes.',
    )
    return false
  }
  if (!isAgreed && !/^y(es)?$/i.test((await ask('Write it? [y/N] ')).trim())) {
    say('Nothing was written.')
    return false
  }
  const copy = await explainFileErrors(path, () => replaceFileAtomically(path, { before: text, next }))
  if (copy !== undefined) say(`The previous file was copied to ${copy}`)
  say(`${host.title} is set up. ${hostFiles[name].reload} and ask: “${firstQuestion}”`)
  const limitation = host.limitation?.(after)
  if (limitation !== undefined) say(limitation)
  if ('url' in connection)
    say(`The server must be running (${commandLine('serve')}). ${host.remoteTip ?? ''}`.trimEnd())
  return true
}

/** Copies the skills to the host's folder if the person wants them there, and says what was copied. */
async function offerSkills(name: HostName, { skills, yes }: SetupFlags): Promise<void> {
  const { title } = hostSetups[name]
  const folder = hostFiles[name].skills?.(userMachine())
  if (folder === undefined) {
    if (skills === true)
      say(`${title} has no folder for skills. If it supports skills over MCP, it gets them from the MCP server.`)
    return
  }
  const count = (await skillNames()).length
  const isAsked = skills !== true && yes !== true && canAsk()
  const isWanted =
    skills === true ||
    (isAsked && /^y(es)?$/i.test((await ask(`Copy ${count} skills to ${folder} too? [y/N] `)).trim()))
  if (!isWanted) {
    if (!isAsked) say(`${count} skills can be copied to ${folder}: ${commandLine('setup', [name, '--skills'])}`)
    return
  }
  const { copied, backups } = await explainFileErrors(folder, () => copySkills(folder))
  say(copied.length === 0 ? `The skills in ${folder} are up to date.` : `Copied to ${folder}: ${copied.join(', ')}`)
  for (const backup of backups) say(`The previous file was copied to ${backup}`)
}

async function editHostFile(host: HostSetup, path: string, entry: Record<string, unknown>, block: string) {
  return explainFileErrors(path, async () => {
    const text = await readFileIfExists(path)
    const before = serverIn(host, text)
    const after = mergedEntry(before, entry)
    const next = isDeepStrictEqual(structuredClone(before), after) ? text : withServer(host, text, after, block)
    return { text, next, before, after }
  })
}

/** Runs `work`, which reads or writes files. If `work` fails, the error names `path`. @throws ConfigError */
async function explainFileErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof UnreadableFile)
      throw new ConfigError(`${path}: ${cause.message}. Nothing was written; fix the file and try again.`, { cause })
    if (typeof (cause as NodeJS.ErrnoException).code !== 'string') throw cause
    throw new ConfigError(`${path} could not be read or written (${(cause as Error).message}).`, { cause })
  }
}

/** Renders only this server's entry, with secrets masked, because the rest of the file is private. */
function shownEntry(entry: Record<string, unknown>): string {
  const text = JSON.stringify({ [serverName]: entry }, null, 2).replace(/\/\/[^/\s"]*@/g, '//[masked]@')
  return maskSecrets(text).replace(/^/gm, '  ')
}

function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true
}

let terminal: { questions: Interface; answers: AsyncIterator<string> } | undefined

/**
 * Asks the person a question. All questions use one reader, so that input typed before a question appears is not lost.
 * The end of the input counts as an empty answer.
 */
async function ask(question: string): Promise<string> {
  if (terminal === undefined) {
    const questions = createInterface({ input: process.stdin, output: process.stdout })
    terminal = { questions, answers: questions[Symbol.asyncIterator]() }
  }
  terminal.questions.setPrompt(question)
  terminal.questions.prompt()
  const { value, done } = await terminal.answers.next()
  return done === true ? '' : value
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
