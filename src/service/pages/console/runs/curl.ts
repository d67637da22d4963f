import type { RunDetail } from '../../../rules/runs.ts'
import { escaped } from './words.ts'

/**
 * The request as a command of a shell. The key is the caller's own, from their environment; a command gets a new
 * Idempotency-Key, for under the old one the recorded answer would come back. What a screen does not show stands in the body
 * as an escape, which JSON reads as the same.
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

/** One word of a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
