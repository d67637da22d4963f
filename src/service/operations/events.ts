import type { events } from '../../../tools/events.ts'
import { fail } from '../../core/errors.ts'
import type { HandlersOf } from '../request/handler.ts'

const absent = async () => fail('not_implemented')

export const eventHandlers: HandlersOf<typeof events> = {
  listEvents: absent,
  getEvent: absent,
  resendEvent: absent,
}
