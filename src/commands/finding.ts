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
