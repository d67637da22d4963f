import { secretPrefix } from '../../core/standard-webhooks.ts'
import type { Transaction } from '../store/engine/store.ts'
import { rootKeys } from '../store/root-keys.ts'
import type { WebhookRow } from '../store/schema/webhooks.ts'

type Of = Pick<WebhookRow, 'id' | 'secretNumber' | 'secretKeyId' | 'previousKeyId' | 'previousSecretUntilMs'>

/** What the deliveries of webhooks are signed with, derived from the root key and the webhook: nothing of it is stored. */
interface WebhookSecrets {
  /** The root key that a new secret is derived from. */
  newestKeyId: number
  /** The newest one. */
  current(of: Of): string
  /** The newest one, and the one before while it is good still. */
  signing(of: Of, realNowMs: number): string[]
}

export async function webhookSecrets(tx: Transaction): Promise<WebhookSecrets> {
  const { derive, newestId } = await tx.shared(rootKeys)
  const secret = (keyId: number, text: string) =>
    `${secretPrefix}${Buffer.from(derive(keyId, text), 'hex').toString('base64')}`
  const current = ({ id, secretNumber, secretKeyId }: Of) => secret(secretKeyId, secretText(id, secretNumber))
  return {
    newestKeyId: newestId,
    current,
    signing: (of, realNowMs) => {
      const { id, secretNumber, previousKeyId, previousSecretUntilMs } = of
      const isOver = previousKeyId === null || previousSecretUntilMs === null || previousSecretUntilMs <= realNowMs
      return isOver ? [current(of)] : [current(of), secret(previousKeyId, secretText(id, secretNumber - 1))]
    },
  }
}

const secretText = (webhookId: string, number: number) => `webhook ${webhookId} ${number}`
