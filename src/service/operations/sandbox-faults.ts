import type { z } from 'zod'
import type { FaultRule, SandboxFault, sandboxFaults } from '../../../tools/sandbox-faults.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newId } from '../../core/system.ts'
import type { HandlersOf } from '../request/handler.ts'
import { ruleConflict } from '../request/load-faults.ts'
import { builtInRules } from '../rules/faults.ts'
import { allFaults, deleteFaults, lockFaults, maxRules, putFault, type StoredRule } from '../store/faults.ts'

export const sandboxFaultHandlers = {
  setSandboxFault: async ({ id: givenId, ...input }, { tx, system, nowMs, actor }) => {
    const id = givenId ?? newId('flt', system, nowMs)
    const rule = { id, ...input }
    const problem = ruleConflict(rule)
    if (problem !== undefined) failAttribute(problem.path, problem.detail)
    const rules = await lockFaults(tx)
    if (rules.length >= maxRules && !rules.some((stored) => stored.id === id)) {
      fail('conflict', {
        detail: `There are already ${maxRules} rules, the most allowed. Remove some with clear_sandbox_faults.`,
      })
    }
    await putFault(tx, rules, rule, actor.partyId)
    return faultView({ id, rule, origin: 'operation', matched: 0, hits: 0 })
  },

  listSandboxFaults: async (_input, { tx }) => [
    ...builtInRules.map((rule) =>
      faultView({ id: rule.id, rule, merchant: rule.merchant, origin: 'built_in', matched: null, hits: null }),
    ),
    ...(await allFaults(tx)).map(faultView),
  ],

  clearSandboxFaults: async ({ faultId }, { tx }) => {
    const rules = await lockFaults(tx)
    const cleared = rules.filter(({ id }) => faultId === undefined || id === faultId)
    if (faultId !== undefined && cleared.length === 0) {
      fail('not_found', { detail: `There is no rule ${faultId} to clear. list_sandbox_faults lists all rules.` })
    }
    await deleteFaults(
      tx,
      rules,
      cleared.map(({ id }) => id),
    )
    return cleared.map(faultView)
  },
} satisfies HandlersOf<typeof sandboxFaults>

type View = z.output<typeof SandboxFault>

interface RuleState extends Pick<StoredRule, 'id'>, Pick<View['attributes'], 'origin' | 'matched' | 'hits'> {
  rule: FaultRule
  merchant?: string
}

function faultView({ id, rule, merchant = undefined, origin, matched, hits }: RuleState): View {
  const { operation = null, path = null, when, fault, code = null, afterMs = null, seed = null } = rule
  const { nth = null, every = null, times = null, probability = null, instanceId = null } = when ?? {}
  return {
    type: 'sandboxFault',
    id,
    attributes: {
      operation,
      path,
      merchant: merchant ?? null,
      when: { nth, every, times, probability, instanceId },
      fault,
      code,
      afterMs,
      seed,
      origin,
      matched,
      hits,
    },
  }
}
