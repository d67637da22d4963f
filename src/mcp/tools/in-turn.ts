/** What settles when the last call is through that is carried out by a decision. */
const last = new Map<string, Promise<void>>()

/** Lets the calls of one decision happen one after another, so that each sees what came of the one before. */
export async function inTurn<T>(decision: string, act: () => Promise<T>): Promise<T> {
  const turn = (last.get(decision) ?? Promise.resolve()).then(act)
  const through = turn.then(
    () => {},
    () => {},
  )
  last.set(decision, through)
  try {
    return await turn
  } finally {
    if (last.get(decision) === through) last.delete(decision)
  }
}
