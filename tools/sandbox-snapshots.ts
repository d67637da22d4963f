import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation, sandboxOperation } from './kinds.ts'
import { Id, listQuery, resource, Timestamp } from './schemas.ts'

/** The maximum number of snapshots in the sandbox. */
export const maxSnapshots = 100
/** The maximum number of characters in the rows of all snapshots together. */
export const maxSnapshotCharacters = 256 * 1024 * 1024

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be 1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit',
  )

/** The state of the sandbox after a reset or a restore. */
export const Sandbox = resource('sandbox', z.literal('sandbox'), {
  now: Timestamp.describe("The sandbox's time"),
  snapshot: z.string().nullable().describe('The restored snapshot; null: the initial world'),
})

/** A saved state of the sandbox, which can be restored. */
export const SandboxSnapshot = resource('sandboxSnapshot', Id('snp'), {
  name: z.string(),
  now: Timestamp.describe("The sandbox's time after a restore"),
  savedAt: Timestamp.describe('When it was saved, by the real clock'),
  size: z.int().nonnegative().describe('Size in characters'),
})

const shared = {
  permission: 'sandbox.manage',
  toolsets: ['sandbox'],
  extension: true,
} as const

const params = z.strictObject({ name: name.describe('Name of the saved state') })

/** Operations that reset, save or restore the whole sandbox (docs/sandbox.md#reset-save-restore). */
export const sandboxSnapshots = {
  resetSandbox: defineOperation({
    ...shared,
    ...sandboxOperation,
    effect: 'destructive',
    name: 'reset_sandbox',
    title: 'Reset the sandbox',
    description:
      'Resets the whole sandbox, clock included, to its initial world, for everyone. Ids and keys of that world keep working; everything created since is gone.',
    path: '/simulations/reset',
    attributes: z.strictObject({}),
    bodyOptional: true,
    output: Sandbox,
    setsState: true,
    alone: true,
    errors: [],
  }),

  saveSandbox: defineOperation({
    ...shared,
    ...sandboxOperation,
    name: 'save_sandbox',
    title: 'Save the sandbox',
    description:
      'Saves the state of the whole sandbox under a name, replacing an earlier state of that name. To go back to it: restore_sandbox.',
    path: '/simulations/snapshots',
    attributes: z.strictObject({ name: name.describe('1 to 64 letters, digits or ._-') }),
    output: SandboxSnapshot,
    setsState: true,
    alone: true,
    errors: ['conflict'],
  }),

  listSandboxSnapshots: defineOperation({
    ...shared,
    ...readOperation,
    environments: ['sandbox'],
    result: 'page',
    name: 'list_sandbox_snapshots',
    title: 'List snapshots of the sandbox',
    description: 'Lists the states that save_sandbox saved, newest first.',
    path: '/simulations/snapshots',
    query: listQuery({}),
    output: SandboxSnapshot,
    errors: [],
  }),

  restoreSandbox: defineOperation({
    ...shared,
    ...sandboxOperation,
    effect: 'destructive',
    name: 'restore_sandbox',
    title: 'Restore the sandbox',
    description:
      'Restores a saved state of the whole sandbox, clock included, for everyone. Everything created since is gone.',
    path: '/simulations/snapshots/{name}/restore',
    params,
    output: Sandbox,
    setsState: true,
    alone: true,
    errors: ['not_found', 'conflict'],
  }),

  deleteSandboxSnapshot: defineOperation({
    ...shared,
    ...sandboxOperation,
    method: 'DELETE',
    effect: 'destructive',
    name: 'delete_sandbox_snapshot',
    title: 'Delete a snapshot of the sandbox',
    description: 'Deletes a saved state. The sandbox itself does not change.',
    path: '/simulations/snapshots/{name}',
    params,
    output: SandboxSnapshot,
    meta: z.object({ deleted: z.literal(true) }),
    errors: ['not_found'],
  }),
} as const
