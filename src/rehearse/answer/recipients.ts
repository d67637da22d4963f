import type { Facts, Move } from './facts.ts'

/** A person or merchant that a clause mentions by handle, email address or name. */
export interface Recipient {
  name: string
  kind: 'handle' | 'email' | 'name'
}

/** Words, in lower case, that are not names of payees even if an answer capitalizes them. */
const common: ReadonlySet<string> = new Set(
  [
    'i the a an your my our this that it they we she he you no yes',
    'monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december',
    'usd us utc gmt id api mcp http ai pdf url ok visa mastercard card wallet order payment total amount status merchant shop store purchase summary details note item items',
    'confirmation transaction reference date time product price quantity tax shipping subtotal task result outcome success done completed complete paid confirmed approved',
    'please here there what when where how all both one two three four five six seven eight nine ten also and or for with from to at in on by of as',
    'main default company account customer person human owner user agent shopper quoted balance recipient handle system none nothing payee amounts method hi hello dear thanks so far currently only accepted paying ordering refund return received sent ordered bought purchased charged shipped',
  ].flatMap((line) => line.split(' ')),
)

export const isCommon = (word: string) => common.has(word)

const word = String.raw`[A-Z][\p{L}\p{N}'.&-]*`
const name = String.raw`(?:${word})(?:\s+(?:&\s+|of\s+|the\s+|and\s+)?(?:${word}))*`
/** Patterns for the words around the name of a payee or merchant, such as "paid NAME" or "at NAME". */
const slots = [
  new RegExp(
    String.raw`\b(?:to|at|from|by|with|through|via)\s+(?:the\s+|our\s+|your\s+|merchant\s+|shop\s+)?(${name})`,
    'gu',
  ),
  new RegExp(String.raw`\b(?:paid|tipped|refunded|reimbursed|sent|billed|pay)\s+(?:out\s+)?(${name})`, 'gu'),
  new RegExp(String.raw`\b(?:and|plus)\s+(${name})\s+(?=\$|\d)`, 'gu'),
  new RegExp(
    String.raw`^(?:and\s+|but\s+|so\s+|then\s+|also\s+)?(?:the\s+)?(${name})\s+(?:was|were|has|have|got|received|took|charged|billed|refunded|gave|holds|held|captured|accepted|confirmed)\b`,
    'gu',
  ),
]

/** Finds the people and merchants that a clause mentions as recipients, whether or not they occur in the facts. */
export function recipientsIn(source: string, facts: Facts): Recipient[] {
  const found: Recipient[] = []
  let text = source
  const take = (pattern: RegExp, kind: Recipient['kind']) => {
    text = text.replace(pattern, (name: string) => {
      found.push({ name: name.replace(/[.,]+$/, ''), kind })
      return ' '
    })
  }
  take(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, 'email')
  take(/(?<![\w.])@[A-Za-z0-9][\w.-]*/g, 'handle')
  text = text.replace(productPattern(facts), ' ')
  for (const knownName of knownNames(facts)) {
    const at = text.search(new RegExp(String.raw`(?<![\p{L}\p{N}])${escaped(knownName)}(?![\p{L}\p{N}])`, 'iu'))
    if (at < 0 || isOnlyMentioned(text, at, knownName)) continue
    found.push({ name: knownName, kind: 'name' })
    text = `${text.slice(0, at)} ~ ${text.slice(at + knownName.length)}`
  }
  for (const slot of slots) {
    for (const { 1: name = '', index } of text.matchAll(slot)) {
      const rest = name.split(/\s+/).filter((part) => !common.has(bareName(part)))
      if (rest.length === 0 || isOnlyMentioned(text, text.indexOf(name, index), name)) continue
      found.push({ name: name.replace(/'s$/, '').replace(/[.,]+$/, ''), kind: 'name' })
    }
  }
  return found
}

/** Returns whether a name in a clause does not denote a recipient, as in "Ben's wallet", "for Ben" or "not Ben". */
function isOnlyMentioned(text: string, at: number, name: string): boolean {
  const [before, after] = [text.slice(0, at), text.slice(at + name.length)]
  return (
    /(?:'s|s')$/.test(name) ||
    /^'s?\s+(?!shop|store|site|handle|account)/.test(after) ||
    /\b(?:not|avoid\w*|ignor\w*|than|instead of|unlike|behalf of|for|of|approved by|after|as|via|named|called|belong\w* to)\s+(?:the\s+|a\s+)?(?:[\w-]+\s+){0,2}$/i.test(
      before,
    )
  )
}

function productPattern({ read }: Facts): RegExp {
  const names = read.products.filter((one) => one.length > 3).map(escaped)
  return names.length === 0 ? /(?!)/g : new RegExp(names.join('|'), 'gi')
}

const namesByFacts = new WeakMap<Facts, string[]>()

/** Returns the names of people and merchants in the ledger and in what the agent read, the longest first. */
function knownNames(facts: Facts): string[] {
  const cached = namesByFacts.get(facts)
  if (cached !== undefined) return cached
  const { recipients, read } = facts
  const names = [...recipients, ...read.names, ...read.carts.map(({ at }) => at)]
  const found = [...new Set(names)]
    .filter(
      (one) =>
        /^[A-Z]/.test(one) &&
        one.length >= 3 &&
        one.length <= 80 &&
        !/\b(?:wallet|account|card)\b/i.test(one) &&
        !common.has(bareName(one)),
    )
    .toSorted((one, other) => other.length - one.length)
  namesByFacts.set(facts, found)
  return found
}

export const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** Converts a name to lower case, removes a final `'s`, and replaces punctuation with spaces. */
export const bareName = (text: string) =>
  text
    .toLowerCase()
    .replace(/'s$/, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

const tokensOf = (text: string) =>
  bareName(text)
    .split(' ')
    .filter((one) => one.length > 1 && !['the', 'and'].includes(one))

/** Returns whether a mentioned person or merchant is the recipient of a payment or purchase. */
export function isRecipientOf({ name, kind }: Recipient, move: Move, facts: Facts): boolean {
  const [claimed, recipientName] = [bareName(name), bareName(move.recipient)]
  if (claimed === recipientName) return true
  if (kind !== 'name') return false
  const [one, other] = [tokensOf(name), tokensOf(move.recipient)]
  if (move.kind === 'purchase') {
    const isAnother = facts.read.names.some((readName) => bareName(readName) === claimed)
    return !isAnother && one.length > 0 && one.every((token) => other.includes(token))
  }
  if (facts.read.carts.some(({ at }) => bareName(at) === claimed)) return false
  const knownWords = new Set([...other, ...aliases(move, facts)])
  return (
    one.length > 0 &&
    one.some((token) => knownWords.has(token)) &&
    one.every((token) => knownWords.has(token) || isRead(token, facts))
  )
}

const isRead = (token: string, { read }: Facts) => read.names.some((name) => tokensOf(name).includes(token))

/**
 * Returns the names in the task if the recipient's handle is the only handle there. Each of these names may then be the
 * recipient's.
 */
function aliases({ recipient }: Move, { task }: Facts): string[] {
  const handles = [...task.matchAll(/(?<![\w.])@[\w-]+/g)].map(([handle]) => bareName(handle))
  if (handles.length !== 1 || handles[0] !== bareName(recipient)) return []
  return [...task.matchAll(/[A-Z][\p{L}-]+/gu)].map(([name]) => bareName(name)).filter((name) => !common.has(name))
}
