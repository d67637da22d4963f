/**
 * Formats a JSON log line for a person. The line for a request shows the time, agent, operation or path, amount,
 * outcome and duration.
 */
export function terminalLine(json: string): string {
  const { time, level, msg, operation, agentId, amount, status, code, ms, method, path, ...others } = JSON.parse(json)
  const clock = String(time).slice(11, 19)
  const took = typeof ms === 'number' ? `${ms} ms` : ''
  if (operation === undefined && path === undefined) return `${words([clock, level, msg, unlistedFields(others)])}\n`
  const who = typeof agentId === 'string' ? `agent …${agentId.slice(-6)}` : ''
  const request = operation ?? `${method} ${path}`
  const outcome = typeof status === 'number' && status >= 400 ? `${msg} ${status} ${code ?? ''}`.trim() : 'ok'
  const cells = [who.padEnd(13), String(request).padEnd(30), dollars(amount).padStart(11), outcome.padEnd(26), took]
  return `${clock}  ${cells.join('  ').trimEnd()}\n`
}

function dollars(cents: unknown): string {
  return typeof cents === 'number' ? `$${(cents / 100).toFixed(2)}` : ''
}

function words(parts: readonly unknown[]): string {
  return parts.filter((part) => part !== '' && part !== undefined).join('  ')
}

/** Renders the remaining fields as JSON, followed by the stack or message of the error in `err`, if there is one. */
function unlistedFields({ err, ...fields }: Record<string, unknown>): string {
  const otherFields = Object.keys(fields).length === 0 ? '' : JSON.stringify(fields)
  const error = err as { stack?: string; message?: string } | undefined
  return error === undefined ? otherFields : `${otherFields} ${error.stack ?? error.message ?? ''}`.trim()
}
