import { catalogue } from '../../../tools/index.ts'
import type { FaultRule } from '../../../tools/sandbox-faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { nearestWord } from '../../core/spelling.ts'
import { builtInRules, isSuited } from '../rules/faults.ts'
import type { Store } from '../store/engine/store.ts'
import { lockFaults, maxRules, replaceFileFaults } from '../store/faults.ts'

/**
 * Returns the first conflict between a rule's fields, as a field and a sentence; undefined if there is none. Each field
 * must be valid on its own.
 */
export function wrongRule(rule: FaultRule): { path: string; detail: string } | undefined {
  const { id, operation, path, fault, code, afterMs, seed, when } = rule
  if (builtInRules.some((builtIn) => builtIn.id === id)) {
    return { path: 'id', detail: `id must be another name: ${id} is a built-in rule.` }
  }
  if (operation === undefined && path === undefined) {
    return { path: 'operation', detail: 'At least one is required: operation (its name, or *) or path.' }
  }
  if (code !== undefined && fault !== 'error') {
    return { path: 'code', detail: `code is only for the fault error; omit it for ${fault}.` }
  }
  if (code === undefined && fault === 'error') {
    return { path: 'code', detail: 'code is required for error: a code of the error table, such as rate_limited.' }
  }
  if (afterMs !== undefined && fault !== 'slow' && fault !== 'hang') {
    return { path: 'afterMs', detail: `afterMs is only for slow and hang; omit it for ${fault}.` }
  }
  if (seed !== undefined && when?.probability === undefined) {
    return { path: 'seed', detail: 'seed is only for when.probability: add that, or omit the seed.' }
  }
  return operation === undefined || operation === '*' ? undefined : wrongOperation(operation, rule)
}

const operations: readonly OperationDefinition[] = Object.values(catalogue)

function wrongOperation(name: string, { fault }: FaultRule): { path: string; detail: string } | undefined {
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
      detail: `operation must be another: no rule can make ${name} fail, so that it always works.`,
    }
  }
  if (isSuited(fault, operation)) return undefined
  const suited = fault === 'stale' ? 'read' : 'list'
  return {
    path: 'fault',
    detail: `fault must be another: ${fault} is only for operations that ${suited}, and ${name} is not one.`,
  }
}

/** Returns the conflicts within and between a file's rules. Each field must be valid on its own. */
export function wrongRules(rules: readonly FaultRule[]): { index: number; path: string; detail: string }[] {
  const seenKeys = new Set<string>()
  return rules.flatMap((rule, index) => {
    const { id } = withId(rule, index)
    const twice = { path: 'id', detail: `id must be another name: ${id} is an earlier rule of the file.` }
    const wrong = seenKeys.has(id) ? twice : wrongRule(rule)
    seenKeys.add(id)
    return wrong === undefined ? [] : [{ index, ...wrong }]
  })
}

/** Names a rule without an id after its position: the first is `file-1`. */
const withId = (rule: FaultRule, index: number) => ({ ...rule, id: rule.id ?? `file-${index + 1}` })

/** The error for a rule in a file that cannot be used. */
export class FaultRuleError extends Error {
  /** The index of the rule, from 0. */
  readonly index: number
  /** The field of the rule. */
  readonly path: string
  constructor(index: number, { path, detail }: { path: string; detail: string }) {
    super(detail)
    this.name = 'FaultRuleError'
    this.index = index
    this.path = path
  }
}

/**
 * Replaces the rules from an earlier file with these rules. Their counts begin at zero.
 * @throws FaultRuleError for a rule that cannot be used.
 */
export async function loadFaults({ store }: { store: Store }, rules: readonly FaultRule[]): Promise<void> {
  const tooMany = { index: maxRules, path: '', detail: `At most ${maxRules} rules are allowed.` }
  const [wrong] = rules.length > maxRules ? [tooMany] : wrongRules(rules)
  if (wrong !== undefined) throw new FaultRuleError(wrong.index, wrong)
  const named = rules.map(withId)
  await store.transaction(async (tx) => {
    await replaceFileFaults(tx, await lockFaults(tx), named)
  })
}
