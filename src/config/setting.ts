import type { Environment } from '../core/operation.ts'

/** The commands that read settings. `stdio` runs if the command line names no command. */
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
   * The default, in one of two forms. `text` is parsed like a given value. In the other form, `otherwise` describes the
   * default in words, and `value` computes it. If there is no `value`, the default is undefined.
   */
  default: { text: string } | { otherwise: string; value?: (start: Start) => unknown }
  secret?: boolean
  /** The commands that read the setting. Other commands refuse the setting's flag. */
  readBy: readonly CommandName[]
  /** Parses a given value. Returns undefined if the setting does not accept it. */
  parse(text: string, environment: Environment): unknown
}

/** The circumstances of the program's start, on which a default may depend. */
export interface Start {
  environment: Environment
  /** Undefined if no command is started, as in a test's sandbox. */
  command: CommandName | undefined
  /** Returns the path of a file in this user's data directory. */
  dataFile(name: string): string
}
