import { secretPrefix } from '../../core/standard-webhooks.ts'
import type { Transaction } from '../store/engine/store.ts'
import { derivedSecret, rootKeys } from '../store/root-keys.ts'
import type { WebhookRow } from '../store/schema/webhooks.ts'
import { webhookText } from './record-texts.ts'

type Webhook = Pick<WebhookRow, 'id' | 'secretNumber' | 'secretKeyId' | 'previousKeyId' | 'previousSecretUntilMs'>

/**
 * The secrets that sign webhook deliveries. Each is derived from a root key and the webhook. It is stored only when
 * this root key is retired.
 */
interface WebhookSecrets {
  /** The id of the root key from which new secrets are derived. */
  newestKeyId: number
  /**
   * Returns a webhook's current secret. For use only when the secret was just created: the root key of an older secret
   * may have been retired, and the secret can then no longer be derived.
   */
  current(webhook: Webhook): string
  /** Returns the secrets that sign a delivery: the newest secret and, while it is still valid, the previous secret. */
  signing(webhook: Webhook, realNowMs: number): Promise<string[]>
}

export async function webhookSecrets(tx: Transaction): Promise<WebhookSecrets> {
  const { derive, newestId } = await tx.shared(rootKeys)
  const secretText = (derived: string) => `${secretPrefix}${Buffer.from(derived, 'hex').toString('base64')}`
  const secret = async (keyId: number, text: string) => secretText(await derivedSecret(tx, keyId, text))
  return {
    newestKeyId: newestId,
    current: ({ id, secretNumber, secretKeyId }) => secretText(derive(secretKeyId, webhookText(id, secretNumber))),
    signing: (webhook, realNowMs) => {
      const { id, secretNumber, secretKeyId, previousKeyId, previousSecretUntilMs } = webhook
      const isOver = previousKeyId === null || previousSecretUntilMs === null || previousSecretUntilMs <= realNowMs
      const newest = secret(secretKeyId, webhookText(id, secretNumber))
      return Promise.all(isOver ? [newest] : [newest, secret(previousKeyId, webhookText(id, secretNumber - 1))])
    },
  }
}
