import { hmacBase64 } from './system.ts'

/** What the secrets begin with that messages are signed with (Standard Webhooks). */
export const secretPrefix = 'whsec_'

/** A message as it is sent. */
export interface Message {
  /** Stays, however often it is sent: who has seen it once need not look again. */
  id: string
  body: string
}

/**
 * The headers that prove to the receiver who sent a message and when (Standard Webhooks 1.0.0). Each secret makes a
 * signature, so that two are good while one takes the other's place.
 * @param nowMs Real time.
 */
export function signedHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  nowMs: number,
): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1000)
  const signatures = secrets.map((secret) => {
    return `v1,${hmacBase64(secret.slice(secretPrefix.length), `${id}.${timestamp}.${body}`)}`
  })
  return {
    'Content-Type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': signatures.join(' '),
  }
}
