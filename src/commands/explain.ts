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
