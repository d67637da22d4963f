import type { RunDetail } from '../../rules/runs.ts'
import { escaped } from './texts.ts'

/**
 * Returns a shell command that sends the request. The command reads the API key from an environment variable. If the
 * request had an idempotency key, the command generates a new one, because the old key would only repeat the old
 * response. Invisible characters in the body are escaped as in JSON.
 */
export function curlOf(
  { method = 'GET', path = '/', body, hasKey = false }: RunDetail,
  { publicUrl, instanceId }: { publicUrl: string; instanceId: string | null },
): string {
  const lines = [
    `curl -X ${/^[A-Z]+$/.test(method) ? method : 'GET'} ${quoted(publicUrl + path)}`,
    '-H "Authorization: Bearer $PAYMENTS_KEY"',
    ...(instanceId === null ? [] : [`-H ${quoted(`X-Instance-ID: ${instanceId}`)}`]),
    ...(hasKey ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(body === undefined || body === ''
      ? []
      : ["-H 'Content-Type: application/json'", `--data-raw ${quoted(escaped(body))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** Quotes a string as one word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
