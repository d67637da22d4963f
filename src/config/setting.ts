import type { Environment } from '../core/operation.ts'

/** The commands. `stdio` is the command that has no name on the command line. */
export const everyCommand = [
  'stdio',
  'bridge',
  'setup',
  'serve',
  'console',
  'simulate',
  'init',
  'rotate-keys',
  'reset-second-factor',
  'report',
  'verify',
  'login',
  'logout',
  'whoami',
  'listen',
  'doctor',
] as const

export type CommandName = (typeof everyCommand)[number]

export function everyCommandBut(...others: readonly CommandName[]): readonly CommandName[] {
  return everyCommand.filter((command) => !others.includes(command))
}

export interface Setting {
  /** The placeholder of the value in the help: `--port <number>`. */
  placeholder: string
  meaning: string
  /** Completes "it accepts …". */
  accepts: string
  /**
   * The text that is used if the setting is not given. If the setting has no default text, `otherwise` describes the
   * default behavior, and `value` returns the value that causes it.
   */
  default: { text: string } | { otherwise: string; value?: (start: Start) => unknown }
  secret?: boolean
  /** The commands that read the setting; other commands refuse its flag. */
  readBy: readonly CommandName[]
  /** Parses the text; undefined if the setting does not accept it. */
  parse(text: string, environment: Environment): unknown
}

/** The facts about the start that a default may depend on. */
export interface Start {
  environment: Environment
  /** Undefined if no command is started, as in a test's sandbox. */
  command: CommandName | undefined
  /** Returns the path of a file in this user's data directory. */
  dataFile(name: string): string
}
