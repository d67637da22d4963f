/** The result of a check by `doctor`: `bad` needs a fix, `note` is only information. */
export interface Finding {
  about: string
  is: 'ok' | 'note' | 'bad'
  says: string
  /** A full sentence that says what to do. */
  advice?: string
}

export const ok = (about: string, says: string): Finding => ({ about, is: 'ok', says })

export const note = (about: string, says: string, advice?: string): Finding =>
  advice === undefined ? { about, is: 'note', says } : { about, is: 'note', says, advice }

export const bad = (about: string, says: string, advice: string): Finding => ({ about, is: 'bad', says, advice })

/** The largest difference at which two clocks still count as equal. */
const clockToleranceMs = 60_000

/** Reports whether two clocks agree. `apartMs` is their difference, positive if this machine's clock is ahead. */
export function clockFinding(apartMs: number, other: string): Finding {
  const apart = Math.round(apartMs / 1000)
  if (Math.abs(apart) * 1000 <= clockToleranceMs) return ok('Clock', `this machine and ${other} agree`)
  const says = `this machine is ${Math.abs(apart)} s ${apart < 0 ? 'behind' : 'ahead of'} ${other}`
  return bad('Clock', says, 'Set the clock of this machine, or synchronize it over the network.')
}

/** Runs a check. Turns an error into a finding, so that the other checks still run. */
export async function findOrReport(about: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    return [bad(about, `could not be checked: ${String(error)}`, 'Report this as a bug in payments-mcp.')]
  }
}
