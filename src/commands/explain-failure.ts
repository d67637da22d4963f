import { ApiError } from '../client/api-error.ts'
import { Failure } from '../core/errors.ts'
import { foreignText } from '../core/foreign-text.ts'
import { orExplain } from './explain.ts'

/** Runs a command; reports a refusal too in one line, and exits with 1. */
export async function orExplainFailure(command: () => Promise<void>): Promise<void> {
  await orExplain(async () => {
    try {
      await command()
    } catch (error) {
      if (!(error instanceof Failure || error instanceof ApiError)) throw error
      process.stderr.write(`payments-mcp: ${foreignText(error.message)}\n`)
      process.exitCode = 1
    }
  })
}
