import { foreignText } from '../../../core/foreign-text.ts'

export const longestName = 100
/**
 * The length limits of a password, in characters. They also apply to the sandbox owner's password
 * (docs/configuration.md).
 */
export const shortestPassword = 12
export const longestPassword = 128

/** The values that the person typed into the form. */
export interface JoinEntry {
  name: string
  password: string
  /** The first invalid field and its problem; null if both fields are valid. */
  firstProblem: { field: 'name' | 'password'; problem: string } | null
}

export function joinEntryOf(sent: URLSearchParams): JoinEntry {
  const name = foreignText(sent.get('name') ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  const password = sent.get('password') ?? ''
  return { name: name.slice(0, longestName), password, firstProblem: firstProblemOf(name, password) }
}

function firstProblemOf(name: string, password: string): JoinEntry['firstProblem'] {
  if (name === '') return { field: 'name', problem: 'Enter your name.' }
  if (name.length > longestName) return { field: 'name', problem: `Use at most ${longestName} characters.` }
  const { length } = [...password]
  if (length < shortestPassword) {
    return { field: 'password', problem: `Choose a password of at least ${shortestPassword} characters.` }
  }
  if (length > longestPassword) {
    return { field: 'password', problem: `Choose a password of at most ${longestPassword} characters.` }
  }
  if (/\p{Cc}/u.test(password)) {
    return { field: 'password', problem: 'Choose a password without tabs and other control characters.' }
  }
  return null
}
