/** What `doctor` found of one thing: `bad` has to be mended, `note` is to be known. */
export interface Finding {
  about: string
  is: 'ok' | 'note' | 'bad'
  says: string
  /** What to do, as a sentence. */
  advice?: string
}

export const ok = (about: string, says: string): Finding => ({ about, is: 'ok', says })

export const note = (about: string, says: string, advice?: string): Finding =>
  advice === undefined ? { about, is: 'note', says } : { about, is: 'note', says, advice }

export const bad = (about: string, says: string, advice: string): Finding => ({ about, is: 'bad', says, advice })

/** Makes a finding of a check that fails, so that the others go on. */
export async function orFinding(about: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    return [bad(about, `could not be checked: ${String(error)}`, 'Tell it as an issue of payments-mcp.')]
  }
}
