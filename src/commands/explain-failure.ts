import { ApiError } from '../client/api-error.ts'
import { Failure } from '../core/errors.ts'
import { foreignText } from '../core/foreign-text.ts'
import { explainErrors } from './explain.ts'

/** Runs a command. Reports a failed API call in one line, and sets exit code 1. */
export async function explainFailures(command: () => Promise<void>): Promise<void> {
  await explainErrors(async () => {
    try {
      await command()
    } catch (error) {
      if (!(error instanceof Failure || error instanceof ApiError)) throw error
      process.stderr.write(`payments-mcp: ${foreignText(error.message)}${isUnreached(error) ? nextStep : ''}\n`)
      process.exitCode = 1
    }
  })
}

const nextStep =
  ' Check PAYMENTS_BASE_URL (--base-url), and that the service runs at that address; payments-mcp serve starts a service on this machine.'

const isUnreached = ({ code, message }: Failure | ApiError) =>
  code === 'service_unavailable' && message.startsWith("Can't reach")
