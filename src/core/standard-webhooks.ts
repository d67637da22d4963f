import { hmacBase64 } from './system.ts'

/** The prefix of signing secrets (Standard Webhooks). */
export const secretPrefix = 'whsec_'

/** A message to send. */
export interface Message {
  /** The same in all deliveries of the message, so that a receiver can skip a message that it has already handled. */
  id: string
  body: string
}

/**
 * Returns the headers that prove to the receiver who sent a message and when (Standard Webhooks 1.0.0). They contain a
 * signature for each secret. While a secret is being replaced, a receiver can verify with the old or the new one.
 * @param nowMs The real time, not the time of the sandbox clock.
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
