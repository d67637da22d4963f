import type { Logger } from '../../config/log.ts'
import { declaresError } from '../../core/declared-errors.ts'
import { loggedPath } from '../../core/logged-path.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { Plan } from './faults.ts'
import type { Actor } from './permission-checks.ts'
import { type Reply, replyValue } from './reply.ts'

interface Answered {
  operation: OperationDefinition
  incoming: { method: string; path: string }
  supportId: string
  actor?: Actor
  plan: Plan
}

interface Refused {
  errors: { code: unknown }[]
}

interface AmountResource {
  data?: { attributes?: { amount?: unknown; maximumAmount?: unknown } }
}

/** Logs an answer. Refusals and answers to changes are logged at the level `info`, and successful reads at `debug`. */
export function logAnswer(log: Logger, answered: Answered, reply: Reply, ms: number) {
  const { operation, incoming, supportId, actor, plan } = answered
  const { name, effect } = operation
  const who = { supportId, partyId: actor?.partyId, agentId: actor?.agentId }
  const fields = { operation: name, status: reply.status, ms: Math.round(ms), ...who }
  if (reply.status >= 400) {
    const code: unknown = (replyValue(reply) as Refused).errors[0]?.code
    // Tests fail if this line is logged (test/support/world.ts). It is not logged for a sandbox fault, because a fault
    // may answer with any code.
    if (!plan.fault && !declaresError(operation, reply.status, String(code)))
      log.error({ ...fields, code }, 'Bug: the operation does not declare this refusal')
    log.info({ ...fields, code, method: incoming.method, path: loggedPath(incoming.path) }, 'refused')
  } else if (effect === 'read') log.debug(fields, 'answered')
  else {
    const { amount, maximumAmount } = (replyValue(reply) as AmountResource).data?.attributes ?? {}
    log.info({ ...fields, amount: amount ?? maximumAmount }, 'answered')
  }
}
