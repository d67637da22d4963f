import { type Action, namesIn } from './action.ts'

export interface Attempt<F> {
  /** The actions up to the failure. */
  history: readonly Action[]
  failure: F
}

interface ShrinkLimits {
  /** The maximum number of runs with a shortened history. */
  tries: number
  /** Returns false once the search must end, because the time is up or the simulation was interrupted. */
  mayContinue: () => boolean
}

/**
 * Shortens a failing history to a part that also fails. First tries only the actions on the affected records, then the
 * same actions with a single agent. After that, leaves out ever smaller chunks (delta debugging: Zeller and
 * Hildebrandt, 2002). Every try is a run on a new world.
 * @param about the names of the affected records; if there are none, the names in the last action are used
 */
export async function shrink<F>(
  found: Attempt<F>,
  about: readonly string[],
  run: (history: readonly Action[]) => Promise<Attempt<F> | undefined>,
  limits: ShrinkLimits,
): Promise<Attempt<F> & { tries: number }> {
  let best = found
  let tries = 0
  const attempt = async (history: readonly Action[]) => {
    if (history.length === 0 || tries >= limits.tries || !limits.mayContinue()) return false
    tries++
    const failed = await run(history)
    if (failed === undefined) return false
    best = failed
    return true
  }
  // Most failures affect only one card, so this single try often reduces thousands of actions to about ten.
  const last = best.history.at(-1)
  const names = about.length > 0 ? about : last === undefined ? [] : namesIn(last)
  await attempt(relatedActions(best.history, names))
  if (new Set(best.history.map(({ agent }) => agent)).size > 1) {
    await attempt(best.history.map((action) => ({ ...action, agent: 1 })))
  }
  let chunks = 2
  while (best.history.length > 1 && tries < limits.tries && limits.mayContinue()) {
    const size = Math.ceil(best.history.length / chunks)
    const reduced = await leaveOutOneChunk(best.history, size, attempt)
    if (reduced) chunks = Math.max(2, chunks - 1)
    else if (size === 1) break
    else chunks = Math.min(best.history.length, chunks * 2)
  }
  return { ...best, tries }
}

async function leaveOutOneChunk(
  history: readonly Action[],
  size: number,
  attempt: (history: readonly Action[]) => Promise<boolean>,
): Promise<boolean> {
  // The last chunk is tried last, because it usually contains the action that failed.
  for (let from = 0; from < history.length; from += size) {
    if (await attempt([...history.slice(0, from), ...history.slice(from + size)])) return true
  }
  return false
}

/**
 * Selects all clock jumps, all actions that mention a given name, and all actions that share a name with another
 * selected action.
 */
function relatedActions(history: readonly Action[], about: readonly string[]): Action[] {
  const names = new Set(about)
  for (let before = -1; before !== names.size; ) {
    before = names.size
    for (const action of history) {
      const ownNames = namesIn(action)
      if (ownNames.some((name) => names.has(name))) for (const name of ownNames) names.add(name)
    }
  }
  return history.filter((action) => action.seconds !== undefined || namesIn(action).some((name) => names.has(name)))
}
