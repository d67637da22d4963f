import type { z } from 'zod'
import type { SandboxMessage, sandboxMessages } from '../../../tools/sandbox-messages.ts'
import { timestamp } from '../../core/system.ts'
import type { HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { listMessages } from '../store/sandbox-messages.ts'
import type { SandboxMessageRow } from '../store/schema/sandbox-messages.ts'

export const sandboxMessageHandlers = {
  /**
   * Lists the messages caused by requests with the party's credentials. An agent sees only messages that it caused
   * itself.
   */
  listSandboxMessages: async (input, { tx, actor }) => {
    const recipient = input.to?.includes('@') === true ? input.to.toLowerCase() : input.to
    const scope = { partyId: actor.partyId, agentId: actor.agentId, recipient }
    const list = { list: 'sandboxMessages', ...scope }
    return page(await listMessages(tx, scope, pageRequest(input, list)), list, messageView)
  },
} satisfies HandlersOf<typeof sandboxMessages>

function messageView(row: SandboxMessageRow): z.output<typeof SandboxMessage> {
  const { id, partyId, kind, channel, recipient: to, subject, text, resourceId, createdAtMs } = row
  return {
    type: 'sandboxMessage',
    id,
    attributes: { kind, channel, to, subject, text, resourceId, createdAt: timestamp(createdAtMs) },
    relationships: { party: { data: { type: 'party', id: partyId } } },
  }
}
