import type { sandboxMessages } from '../../../tools/sandbox-messages.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const sandboxMessageHandlers: HandlersOf<typeof sandboxMessages> = {
  listSandboxMessages: absent,
}
