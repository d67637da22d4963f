import type { webhooks } from '../../../tools/webhooks.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const webhookHandlers: HandlersOf<typeof webhooks> = {
  createWebhook: absent,
  listWebhooks: absent,
  getWebhook: absent,
  updateWebhook: absent,
  deleteWebhook: absent,
  rotateWebhookSecret: absent,
  listWebhookDeliveries: absent,
  sendTestEvent: absent,
}
