import { ConfigError } from '../config/load.ts'

/** Runs a command. Reports an invalid setting or option without a stack trace, and sets exit code 2. */
export async function explainErrors(command: () => Promise<void>): Promise<void> {
  try {
    await command()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`payments-mcp: ${error.message}\n`)
    process.exitCode = 2
  }
}

/** Returns the code of an error, such as ENOENT, or the error as a string if it has no code. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
