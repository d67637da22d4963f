import type { FaultRule } from '../../../tools/sandbox-faults.ts'
import type { FaultKind } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'

/** The parts of an operation that fault rules use. If an operation is not in the catalogue, only its name is known. */
export type FaultableOperation = Pick<OperationDefinition, 'name'> &
  Partial<Pick<OperationDefinition, 'effect' | 'result' | 'permission'>>

/** The parts of a request that fault rules use. */
export interface FaultableRequest {
  path: string
  /** Undefined if the request calls no operation. */
  operation: FaultableOperation | undefined
  /**
   * The entry point of the request. A rule with a path applies to both entry points, a rule without a path only to
   * the API.
   */
  door: 'api' | 'mcp'
  partyId: string
  instanceId: string | null
}

/** A fault rule with its party and its counts of requests. */
export interface CountedRule {
  id: string
  rule: FaultRule
  /** The party that owns the rule. If the rule names a run, the rule applies only to requests of this party. */
  partyId: string | null
  /** The number of requests that matched the rule. */
  matched: number
  /** The number of requests to which the rule was applied. */
  hits: number
}

export interface Outcome {
  /** The ids of all rules that match the request. Each of these rules counts the request. */
  matched: readonly string[]
  /** The rule to apply: the first of the matching rules whose conditions hold. */
  hit: CountedRule | undefined
}

/** A function that returns a pseudo-random number n, 0 <= n < 1. The same parts always give the same number. */
export type Draw = (...parts: (string | number)[]) => number

/** Returns the rules that match a request, and the rule to apply (docs/sandbox.md#which-requests-a-fault-hits). */
export function outcomeOf(rules: readonly CountedRule[], request: FaultableRequest, draw: Draw): Outcome {
  const fitting = rules.filter((one) => matchesRule(one, request))
  return { matched: fitting.map(({ id }) => id), hit: fitting.find((one) => isRuleActive(one, draw)) }
}

/** Returns whether any rule matches the request. A rule counts every request that it matches. */
export function isCounted(rules: readonly CountedRule[], request: FaultableRequest): boolean {
  return rules.some((one) => matchesRule(one, request))
}

/** Returns whether the rule matches the request, regardless of its counts. */
function matchesRule({ rule, partyId }: CountedRule, request: FaultableRequest): boolean {
  const { operation, path, when, fault } = rule
  if (!mayApply(fault, request.operation)) return false
  if (path === undefined && request.door !== 'api') return false
  if (operation !== undefined && operation !== '*' && operation !== request.operation?.name) return false
  if (when?.instanceId !== undefined && (when.instanceId !== request.instanceId || partyId !== request.partyId)) {
    return false
  }
  // This check comes last, because it takes the longest.
  return path === undefined || matchesGlob(path, request.path)
}

/** Returns whether the rule's conditions hold for the next request that the rule matches. */
function isRuleActive({ id, rule, matched, hits }: CountedRule, draw: Draw): boolean {
  const { nth, every, times, probability } = rule.when ?? {}
  const number = matched + 1
  if (nth !== undefined && number !== nth) return false
  if (every !== undefined && number % every !== 0) return false
  if (times !== undefined && hits >= times) return false
  return probability === undefined || draw(rule.seed ?? '', id, number) < probability
}

/**
 * Returns whether the fault can apply to a request. No fault can apply to the operations that manage the sandbox,
 * because such a fault could prevent callers from clearing the rules.
 */
function mayApply(fault: FaultKind, operation: FaultableRequest['operation']): boolean {
  return operation?.permission !== 'sandbox.manage' && isSuited(fault, operation)
}

/**
 * Returns whether the fault makes sense for the operation. If the request calls no operation, every fault makes sense.
 */
export function isSuited(fault: FaultKind, operation: FaultableRequest['operation']): boolean {
  if (operation === undefined) return true
  if (fault === 'stale') return operation.effect === 'read'
  if (fault === 'empty_page') return operation.result === 'page'
  return true
}

/**
 * Returns whether a path matches the pattern: `*` matches any characters except `/`, and `**` matches any characters.
 */
export function matchesGlob(glob: string, path: string): boolean {
  const parts = glob.match(/\*\*|./gsu) ?? []
  // The positions in the pattern that can be reached after the characters read so far. All these positions are tracked
  // together, so each character is read only once, however many stars the pattern has.
  let reached = closed(new Set([0]), parts)
  for (const character of path) {
    const next = new Set<number>()
    for (const at of reached) {
      const part = parts[at]
      if (part === '**' || (part === '*' && character !== '/')) next.add(at)
      else if (part === character) next.add(at + 1)
    }
    reached = closed(next, parts)
  }
  return reached.has(parts.length)
}

/** Adds the position after each reached star to the reached positions, because a star may also match nothing. */
function closed(reached: Set<number>, parts: readonly string[]): Set<number> {
  for (const at of reached) if (parts[at] === '*' || parts[at] === '**') reached.add(at + 1)
  return reached
}

/** The built-in fault rules of the sandbox. */
export const builtInRules = [
  {
    /**
     * The service accepts the authorization, but resolves it only when the request is repeated
     * (docs/service.md#unresolved-authorizations).
     */
    id: 'sandbox_unresolved',
    operation: 'simulate_card_authorization',
    merchant: 'Sandbox Unresolved',
    fault: 'error',
    code: 'service_unavailable',
  },
] as const satisfies readonly (FaultRule & { merchant: string })[]

/** Returns whether the first attempt at an authorization by this merchant stays unresolved. */
export function staysUnresolved(merchantName: string): boolean {
  return builtInRules.some(({ merchant }) => merchant === merchantName)
}
