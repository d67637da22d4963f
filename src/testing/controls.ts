import type { Catalogue } from '../../tools/index.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import type { Operations } from '../client/client.ts'
import type { Resource } from '../core/operation.ts'

/** The sandbox clock. Timestamps are RFC 3339 in UTC with milliseconds (docs/time.md). */
export interface SandboxClock {
  /** Returns the time of the sandbox clock. */
  now(): Promise<string>
  /**
   * Moves the clock forward. From its next request on, each party sees the effects that have become due, such as lapsed
   * holds, expired cards and billed subscriptions.
   * @param by The number of seconds to move the clock by, or the RFC 3339 timestamp to move it to.
   * @returns The new time.
   * @throws {ApiError} If the clock would move back, or too far forward.
   */
  advance(by: number | string): Promise<string>
}

/** The failures that the sandbox injects (docs/sandbox.md#faults). */
export interface SandboxFaults {
  /**
   * Adds a rule, or replaces the rule with the same id.
   * @param rule Which requests fail (by operation, path, count or probability), and how (docs/sandbox.md#faults).
   * @returns The rule as stored, with its id.
   * @throws {Failure} If the rule is invalid; the message names the invalid field.
   * @example
   * ```ts
   * import { createSandbox } from 'payments-mcp/testing'
   *
   * await using sandbox = await createSandbox({ port: false })
   * const { id } = await sandbox.faults.set({ operation: 'list_wallets', fault: 'slow', afterMs: 3_000 })
   * const rule = (await sandbox.faults.list()).find((rule) => rule.id === id)
   * console.log(rule?.hits) // 0
   * ```
   */
  set(rule: FaultRule): Promise<SandboxFault>
  /**
   * Returns all rules, each with how many requests it `matched` and how many of them got its fault (`hits`). Both are
   * null for the built-in rules, which are not counted.
   */
  list(): Promise<SandboxFault[]>
  /**
   * Removes one rule, or all rules except the built-in ones, which cannot be removed.
   * @param id The id of the rule to remove; if omitted, all rules are removed.
   */
  clear(id?: string): Promise<void>
}

/** Saving and restoring the state of the whole sandbox (docs/sandbox.md#reset-save-restore). */
export interface SandboxSnapshots {
  /** Restores the initial state and clock. The ids and keys of that state, and MCP connections, stay valid. */
  reset(): Promise<void>
  /**
   * Saves the current state.
   * @param name 1 to 64 letters, digits or `._-`. An earlier state with this name is replaced.
   */
  save(name: string): Promise<void>
  /**
   * Restores a saved state, including the clock.
   * @param name The name under which the state was saved.
   * @throws {ApiError} With the code `not_found` if there is no such state.
   */
  restore(name: string): Promise<void>
}

type FaultResource = Resource<Catalogue['setSandboxFault']>

/**
 * A rule as the sandbox stores it: `id`, the rule's fields (null if unset), `origin`, how many requests it `matched`,
 * and how many of them it was applied to (`hits`).
 */
export type SandboxFault = Pick<FaultResource, 'id'> & FaultResource['attributes']

export function clockControls(operations: () => Operations): SandboxClock {
  return {
    now: async () => (await operations().getSandboxClock({})).data.attributes.now,
    advance: async (by) => {
      const { data } = await operations().advanceSandboxClock(typeof by === 'number' ? { seconds: by } : { to: by })
      return data.attributes.now
    },
  }
}

export function faultControls(operations: () => Operations): SandboxFaults {
  const flattenRule = ({ id, attributes }: FaultResource) => ({ id, ...attributes })
  return {
    set: async (rule) => flattenRule((await operations().setSandboxFault(rule)).data),
    list: async () => (await operations().listSandboxFaults({})).data.map(flattenRule),
    clear: async (faultId) => {
      await operations().clearSandboxFaults({ faultId })
    },
  }
}

export function snapshotControls(operations: () => Operations): SandboxSnapshots {
  return {
    reset: async () => void (await operations().resetSandbox({})),
    save: async (name) => void (await operations().saveSandbox({ name })),
    restore: async (name) => void (await operations().restoreSandbox({ name })),
  }
}
