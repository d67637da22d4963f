import { foreignText } from '../../../core/foreign-text.ts'

export const longestName = 100
/** The limits of a password are the same as for the sandbox's owner (docs/configuration.md). */
export const shortestPassword = 12
export const longestPassword = 128

/** The values typed by the person who joins. */
export interface Typed {
  name: string
  password: string
  /** The invalid field and its problem. */
  wrong: { field: 'name' | 'password'; problem: string } | null
}

export function typedOf(sent: URLSearchParams): Typed {
  const name = foreignText(sent.get('name') ?? '')
    .replace(/\s+/g, ' ')
    .trim()
  const password = sent.get('password') ?? ''
  return { name: name.slice(0, longestName), password, wrong: wrongOf(name, password) }
}

function wrongOf(name: string, password: string): Typed['wrong'] {
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
