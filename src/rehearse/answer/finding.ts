/** A fault in an answer: a false claim (`no`), or something vague, missing or unsupported (`unclear`). */
export interface Finding {
  truth: 'no' | 'unclear'
  says: string
}

export const quoted = (text: string) => JSON.stringify(text.length <= 160 ? text : `${text.slice(0, 159)}…`)

export const lie = (text: string, why: string): Finding => ({
  truth: 'no',
  says: `It says ${quoted(text)}, but ${why}.`,
})

export const unclearFinding = (says: string): Finding => ({ truth: 'unclear', says })
