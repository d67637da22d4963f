import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { foreignText } from '../../core/foreign-text.ts'
import type { Start } from '../../core/host-setups.ts'
import { maskSecrets } from '../../core/masking.ts'
import { type System, sha256 } from '../../core/system.ts'
import { type Agent, AgentError, type AgentInput } from '../agent.ts'
import { writeMcpConfigs } from './mcp-config.ts'
import { type CommandResult, ProcessGroups } from './process-group.ts'

export interface CommandOptions {
  /** The user's environment variables, such as a host's API keys. The command gets them and the trial's variables. */
  env: Readonly<Record<string, string | undefined>>
  /** The command that starts this package, for hosts that can only use MCP servers over stdio. */
  start: Start
  system: Pick<System, 'sleep'>
}

/** The maximum number of characters in an answer. A longer answer loses its beginning. */
const maxAnswerLength = 16_000
/** The maximum number of characters that are quoted from stderr. Longer output loses its beginning. */
const maxErrorOutputLength = 500

/**
 * Creates an agent from a command. The command reads the task from an environment variable and prints its answer to
 * stdout (docs/rehearse.md).
 */
export function commandAgent(command: string, { env, start, system }: CommandOptions): Agent {
  const groups = new ProcessGroups(system)
  return {
    name: maskSecrets(command),
    isScripted: false,
    run: async (input, signal) => {
      const configs = await writeMcpConfigs(input, start)
      const hosts = { MCP_CONFIG: configs.http, MCP_CONFIG_STDIO: configs.stdio }
      const variables = { ...env, ...variablesOf(input), ...hosts, TURNS_FILE: await writeTurns(input) }
      return answerOf(await runCommand(() => groups.run(command, { env: variables }, signal), signal))
    },
  }
}

/** Writes the conversation so far into a file in the trial's folder, and returns the file's path. */
async function writeTurns({ folder, turns }: AgentInput): Promise<string> {
  const path = join(folder, 'turns.json')
  await writeFile(path, `${JSON.stringify(turns, null, 2)}\n`, { mode: 0o600 })
  return path
}

/** Returns the environment variables that describe a trial. */
function variablesOf({ task, url, askUrl, mcpUrl, key, shopsUrl, folder, seed }: AgentInput) {
  return {
    TASK: task,
    MCP_URL: mcpUrl,
    MCP_KEY: key,
    API_URL: url,
    SHOPS_URL: shopsUrl,
    ASK_URL: askUrl,
    TRIAL_FOLDER: folder,
    // The seed is hashed because it contains the scenario's id, which the agent must not know.
    TRIAL_SEED: sha256(seed).slice(0, 16),
  }
}

/** Runs the command. @throws AgentError if the shell itself could not be started */
async function runCommand(run: () => Promise<CommandResult>, signal: AbortSignal): Promise<CommandResult> {
  try {
    return await run()
  } catch (error) {
    signal.throwIfAborted()
    throw new AgentError(`The command could not be started: ${(error as Error).message}.`)
  }
}

/** Returns the printed answer. @throws AgentError if the command failed or printed no answer to stdout */
function answerOf({ exitCode, signal, stdout, stderr }: CommandResult): string {
  const errorOutput = errorOutputEnd(stderr)
  if (exitCode !== 0)
    throw new AgentError(`${failure(exitCode, signal)}${errorOutput === '' ? '' : ` Its stderr: ${errorOutput}`}`)
  const answer = stripVTControlCharacters(stdout).trimEnd().slice(-maxAnswerLength)
  if (answer !== '') return answer
  throw new AgentError(
    `The command printed no answer to stdout.${errorOutput === '' ? '' : ` Its stderr: ${errorOutput}`}`,
  )
}

/** Explains a command's failure from its signal or exit code (POSIX.1-2024, Shell Command Language, 2.8.2). */
function failure(exitCode: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `The command was killed by ${signal}.`
  if (exitCode === 127)
    return 'The command was not found. Put it in PATH or write its full path, and check that it runs in this terminal.'
  if (exitCode === 126)
    return 'The command exists but cannot be run: make it executable, or use its interpreter, as in: node agent.mjs'
  return `The command ended with exit code ${exitCode} instead of 0.`
}

/** Returns the end of a command's stderr as one line, with secrets masked. */
function errorOutputEnd(stderr: string): string {
  const text = maskSecrets(foreignText(stripVTControlCharacters(stderr)))
  return text.length <= maxErrorOutputLength ? text : `… ${text.slice(-maxErrorOutputLength)}`
}
