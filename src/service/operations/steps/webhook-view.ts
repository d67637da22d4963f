import type { z } from 'zod'
import type { Webhook } from '../../../../tools/webhooks.ts'
import { timestamp } from '../../../core/system.ts'
import type { WebhookRow } from '../../store/schema/webhooks.ts'

type ViewedColumn =
  | 'id'
  | 'partyId'
  | 'url'
  | 'description'
  | 'status'
  | 'enabledEvents'
  | 'tags'
  | 'createdAtMs'
  | 'updatedAtMs'

export function webhookView(row: Pick<WebhookRow, ViewedColumn>): z.output<typeof Webhook> {
  return {
    type: 'webhook',
    id: row.id,
    attributes: {
      url: row.url,
      description: row.description,
      status: row.status,
      enabledEvents: JSON.parse(row.enabledEvents) as string[],
      tags: JSON.parse(row.tags) as Record<string, string>,
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: { party: { data: { type: 'party', id: row.partyId } } },
  }
}
