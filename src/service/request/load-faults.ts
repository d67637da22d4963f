import { catalogue } from '../../../tools/index.ts'
import type { FaultRule } from '../../../tools/sandbox-faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { nearestWord } from '../../core/spelling.ts'
import { builtInRules, isSuited } from '../rules/faults.ts'
import type { Store } from '../store/engine/store.ts'
import { lockFaults, maxRules, replaceFileFaults } from '../store/faults.ts'

/**
 * Returns a rule's first conflict, as the path of a field and an error message. Callers have already checked each field
 * on its own.
 */
export function ruleConflict(rule: FaultRule): { path: string; detail: string } | undefined {
  const { id, operation, path, fault, code, afterMs, seed, when } = rule
  if (builtInRules.some((builtIn) => builtIn.id === id)) {
    return { path: 'id', detail: 'id must be an id that no built-in rule has.' }
  }
  if (operation === undefined && path === undefined) {
    return { path: 'operation', detail: 'A rule needs an operation (a name, or *), a path or both.' }
  }
  if (code !== undefined && fault !== 'error') {
    return { path: 'code', detail: `code is only for the fault "error"; leave it out for "${fault}".` }
  }
  if (code === undefined && fault === 'error') {
    return { path: 'code', detail: 'code is required for the fault "error": an error code such as rate_limited.' }
  }
  if (afterMs !== undefined && fault !== 'slow' && fault !== 'hang') {
    return { path: 'afterMs', detail: `afterMs is only for the faults "slow" and "hang"; leave it out for "${fault}".` }
  }
  if (seed !== undefined && when?.probability === undefined) {
    return { path: 'seed', detail: 'seed is only for rules with when.probability; add that, or omit the seed.' }
  }
  return operation === undefined || operation === '*' ? undefined : operationConflict(operation, rule)
}

const operations: readonly OperationDefinition[] = Object.values(catalogue)

function operationConflict(name: string, { fault }: FaultRule): { path: string; detail: string } | undefined {
  const operation = operations.find((one) => one.name === name)
  if (operation === undefined) {
    const nearestKey = nearestWord(
      name,
      operations.map((one) => one.name),
    )
    const advice = nearestKey === undefined ? '' : ` Did you mean ${nearestKey}?`
    return { path: 'operation', detail: `operation must be the name of an operation, or *, got "${name}".${advice}` }
  }
  if (operation.permission === 'sandbox.manage') {
    return {
      path: 'operation',
      detail: `operation must be an operation that does not manage the sandbox: no rule can make ${name} fail.`,
    }
  }
  if (isSuited(fault, operation)) return undefined
  const suited = fault === 'stale' ? 'read data' : 'list records'
  return {
    path: 'fault',
    detail: `fault must be a fault that applies to ${name}: "${fault}" applies only to operations that ${suited}.`,
  }
}

/**
 * Returns the conflicts within a file's rules and between them, at most one for each rule. Callers have already checked
 * each field on its own.
 */
export function ruleConflicts(rules: readonly FaultRule[]): { index: number; path: string; detail: string }[] {
  const seenKeys = new Set<string>()
  return rules.flatMap((rule, index) => {
    const { id } = withId(rule, index)
    const duplicate = { path: 'id', detail: 'id must be an id that no earlier rule in the file has.' }
    const wrong = seenKeys.has(id) ? duplicate : ruleConflict(rule)
    seenKeys.add(id)
    return wrong === undefined ? [] : [{ index, ...wrong }]
  })
}

/** Adds an id to a rule that has none. The id comes from the rule's position, such as `file-1` for the first rule. */
const withId = (rule: FaultRule, index: number) => ({ ...rule, id: rule.id ?? `file-${index + 1}` })

/** The error for an invalid rule in a file. */
export class FaultRuleError extends Error {
  /** The index of the rule, from 0. */
  readonly index: number
  /** The path of the invalid field in the rule. */
  readonly path: string
  constructor(index: number, { path, detail }: { path: string; detail: string }) {
    super(detail)
    this.name = 'FaultRuleError'
    this.index = index
    this.path = path
  }
}

/**
 * Replaces the rules from an earlier file with these rules. The counts of the new rules begin at zero.
 * @throws FaultRuleError if there are too many rules, or for the first invalid rule.
 */
export async function loadFaults({ store }: { store: Store }, rules: readonly FaultRule[]): Promise<void> {
  const tooMany = { index: maxRules, path: '', detail: `At most ${maxRules} rules are allowed.` }
  const [wrong] = rules.length > maxRules ? [tooMany] : ruleConflicts(rules)
  if (wrong !== undefined) throw new FaultRuleError(wrong.index, wrong)
  const named = rules.map(withId)
  await store.transaction(async (tx) => {
    await replaceFileFaults(tx, await lockFaults(tx), named)
  })
}
