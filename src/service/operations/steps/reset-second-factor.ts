import { actOfVisitor } from '../../request/activity.ts'
import { type Dependencies, runChange, unchanged } from '../../request/settled-transaction.ts'
import { lockSecondFactor, saveSecondFactor } from '../../store/second-factors.ts'
import { findUserByEmail, markVerified } from '../../store/users.ts'

/**
 * The outcome of a reset. `none` means that the user has no authenticator app; `unknown` means that no user has this
 * email address.
 */
export type ResetResult = 'reset' | 'none' | 'unknown'

/**
 * Removes a user's authenticator app so that the user can set up a new one. Only a command for operators calls this
 * function. The operator has no credential, so the activity log records the actor as a visitor.
 */
export function resetSecondFactor(dependencies: Dependencies, email: string): Promise<ResetResult> {
  return runChange<ResetResult>(dependencies, async ({ tx }) => {
    const user = await findUserByEmail(tx, email.trim().toLowerCase())
    if (user === undefined) return unchanged('unknown')
    const row = await lockSecondFactor(tx, user.id)
    if (row.seed === null && row.pendingSeed === null) return unchanged('none')
    await saveSecondFactor(tx, { ...row, seed: null, pendingSeed: null, lastStep: null, refusedAtMs: '[]' })
    await markVerified(tx, user.id, null)
    return { result: 'reset', acts: [actOfVisitor(user, { operation: 'reset_second_factor' })] }
  })
}
