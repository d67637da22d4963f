import { ConfigError } from '../config/load.ts'

/** Runs a command; reports an error that the person can fix in one line, and exits with 2. */
export async function explainErrors(command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`payments-mcp: ${error.message}\n`)
    process.exitCode = 2
  }
}

/** Returns the code of a file system error, or its text if it has no code. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
