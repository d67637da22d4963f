import type { Environment } from '../core/operation.ts'

/** The commands that can be started; `stdio` is the one without a name on the command line. */
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
  /** The word that stands for the value in the help: `--port <number>`. */
  placeholder: string
  meaning: string
  /** Completes "it accepts …". */
  accepts: string
  /**
   * The text that counts as given when nothing is. Where there is no such text: what happens then, in words, and the
   * value that makes it happen; without one it is undefined.
   */
  default: { text: string } | { otherwise: string; value?: (start: Start) => unknown }
  secret?: boolean
  /** The commands that read the setting; the others refuse its flag. */
  readBy: readonly CommandName[]
  /** The value that the text means; undefined: the setting does not accept the text. */
  parse(text: string, environment: Environment): unknown
}

/** The facts of the start that a default may depend on. */
export interface Start {
  environment: Environment
  /** Undefined where no command is started, as in a test's sandbox. */
  command: CommandName | undefined
  /** The path of a file in this user's data directory. */
  dataFile(name: string): string
}
