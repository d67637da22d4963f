import type { Catalogue } from '../../tools/index.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import type { Operations } from '../client/client.ts'
import type { Resource } from '../core/operation.ts'

/** The sandbox's clock, in RFC 3339 as the API writes it. */
export interface SandboxClock {
  now(): Promise<string>
  /** Moves the clock forward by seconds, or to a time, and returns the new time. */
  advance(by: number | string): Promise<string>
}

/** The failures that the sandbox injects (docs/sandbox.md#faults). */
export interface SandboxFaults {
  /** Adds a rule, or replaces the one of the same id. */
  set(rule: FaultRule): Promise<SandboxFault>
  /** Lists all rules, with how often each matched and hit. */
  list(): Promise<SandboxFault[]>
  /** Removes one rule, or all of them. */
  clear(id?: string): Promise<void>
}

/** States that the whole sandbox can return to (docs/sandbox.md#reset-save-restore). */
export interface SandboxSnapshots {
  /** Restores the initial state, including the clock. Keys, ids of the world and MCP connections stay valid. */
  reset(): Promise<void>
  /** Saves the current state under a name: 1 to 64 letters, digits or `._-`. */
  save(name: string): Promise<void>
  /** Restores the state saved under that name. */
  restore(name: string): Promise<void>
}

type FaultResource = Resource<Catalogue['setSandboxFault']>

/** A rule as the sandbox stores it. */
export type SandboxFault = Pick<FaultResource, 'id'> & FaultResource['attributes']

/** Returns the clock of the sandbox behind these operations. */
export function clockBy(operations: () => Operations): SandboxClock {
  return {
    now: async () => (await operations().getSandboxClock({})).data.attributes.now,
    advance: async (by) => {
      const { data } = await operations().advanceSandboxClock(typeof by === 'number' ? { seconds: by } : { to: by })
      return data.attributes.now
    },
  }
}

export function faultsBy(operations: () => Operations): SandboxFaults {
  const flat = ({ id, attributes }: FaultResource) => ({ id, ...attributes })
  return {
    set: async (rule) => flat((await operations().setSandboxFault(rule)).data),
    list: async () => (await operations().listSandboxFaults({})).data.map(flat),
    clear: async (faultId) => {
      await operations().clearSandboxFaults({ faultId })
    },
  }
}

export function snapshotsBy(operations: () => Operations): SandboxSnapshots {
  return {
    reset: async () => void (await operations().resetSandbox({})),
    save: async (name) => void (await operations().saveSandbox({ name })),
    restore: async (name) => void (await operations().restoreSandbox({ name })),
  }
}
