import { ConfigError } from '../config/load.ts'

/** Runs a command; what the person at the terminal can mend is told in one line, and ends the process with 2. */
export async function orExplain(command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`payments-mcp: ${error.message}\n`)
    process.exitCode = 2
  }
}

/** Returns the code of a failure of the file system, or its words where it has none. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
