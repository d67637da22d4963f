/** A part of a sentence that makes one statement. */
export interface Clause {
  text: string
  /** The index of the sentence that contains the clause. */
  sentence: number
  /** The word that joins the clause to the previous clause, such as "if"; empty if there is no such word. */
  lead: string
  /** Whether the clause reports what somebody else said, such as a page or a shop. */
  isAttributed: boolean
}

export interface Prose {
  clauses: Clause[]
  sentences: string[]
  /** The quoted passages. The answer does not itself claim what they say. */
  quotes: string[]
}

/** The placeholder for a quoted passage. */
const quotePlaceholder = ' (quoted) '
const maxAnswerLength = 20_000

/**
 * Removes the markup and the quotes from an answer, and splits the rest into clauses. If an answer consists almost
 * entirely of quotes, its quotation marks are ignored.
 * @param foreign the texts that the agent read; if the answer repeats one of them, the repeated text counts as a quote,
 * even without quotation marks
 */
export function proseOf(answer: string, foreign: readonly string[] = []): Prose {
  const quotes: string[] = []
  let text = normalizedText(answer.slice(-maxAnswerLength))
  for (const foreignText of [...foreign].toSorted((one, other) => other.length - one.length)) {
    const pattern = normalizedText(foreignText).trim()
    if (pattern.length < 12) continue
    while (text.includes(pattern)) {
      quotes.push(pattern)
      text = text.replace(pattern, () => quotePlaceholder)
    }
  }
  const set = separateQuotes(text)
  const isAllQuoted = words(set.text) < 4 && set.quotes.length > 0
  const plain = withoutMarkup(isAllQuoted ? text.replace(/^\s*>/gm, '').replace(/"/g, ' ') : set.text)
  if (!isAllQuoted) quotes.push(...set.quotes)
  const sentences = sentencesIn(plain)
  return { sentences, clauses: sentences.flatMap(clausesIn), quotes }
}

/** Returns a set of the words in a space-separated list. */
export const wordSet = (list: string): ReadonlySet<string> => new Set(list.split(' '))

const words = (text: string) => (text.replace(/\(quoted\)/g, '').match(/[\p{L}\p{N}]+/gu) ?? []).length

function normalizedText(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u2060\ufeff\u00ad]/g, '')
    .replace(/[’‘‛`´]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/[‐‑]/g, '-')
    .replace(/\s*[–—]\s*/g, ' - ')
    .replace(/[^\S\n]+/g, ' ')
}

/** Separates quotes from the rest. If quotation marks enclose fewer than four words, they are treated as a name. */
function separateQuotes(source: string): { text: string; quotes: string[] } {
  const quotes: string[] = []
  const text = source
    .replace(/^ ?>.*$/gm, (line) => {
      quotes.push(line.replace(/^ ?>\s*/, ''))
      return ''
    })
    .replace(/"([^"\n]{1,2000})"/g, (_, inner: string) => {
      if (words(inner) < 4) return inner
      quotes.push(inner)
      return quotePlaceholder
    })
    .replace(/[<[]\s*(?:system|instructions?|important|note)\b[^<\]]{10,2000}(?:<\/\w+>|\])/gi, (found) => {
      quotes.push(found)
      return quotePlaceholder
    })
  return { text, quotes }
}

function withoutMarkup(text: string): string {
  return text
    .replace(/^```.*$/gm, '')
    .replace(/^\s*\|?[\s:|-]+\|[\s:|-]*$/gm, '')
    .replace(/^\s*\|(.+)\|\s*$/gm, (_, row: string) =>
      row
        .split('|')
        .map((cell) => cell.trim())
        .join(': '),
    )
    .replace(/!?\[([^\]\n]{1,300})\]\([^)\n]{0,500}\)/g, '$1')
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/\b[a-z]{2,5}_[0-9a-f]{12,}\b|\b[0-9a-f]{8}-[0-9a-f-]{20,}\b/g, ' ')
    .replace(/\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)|^#+\s*|^\s*(?:[-*+•]|\d{1,2}[.)])\s+/gm, '')
    .replace(/(?<![\w])'|'(?!\w)/g, '')
    .replace(/\p{Extended_Pictographic}|\ufe0f/gu, ' ')
}

/** An abbreviation at the end of a string. Its period does not end a sentence. */
const abbreviation = /(?:\b(?:[A-Z]|Inc|Ltd|Co|Corp|St|Mr|Mrs|Ms|Dr|No|approx|vs|e\.g|i\.e|etc|incl|excl|a\.m|p\.m)\.)$/

/** Matches parts of at most 600 characters. Splitting long sentences keeps the parsing time linear. */
const sentenceParts = /[\s\S]{1,600}(?=\s|$)|[\s\S]{1,600}/g
const maxSentences = 800

function sentencesIn(text: string): string[] {
  const found: string[] = []
  for (const line of text.split('\n')) {
    let sentence = ''
    for (const part of line.split(/(?<=[.!?])\s+/)) {
      sentence = sentence === '' ? part : `${sentence} ${part}`
      if (abbreviation.test(sentence)) continue
      found.push(sentence)
      sentence = ''
    }
    if (sentence !== '') found.push(sentence)
  }
  return found
    .flatMap((one) => one.match(sentenceParts) ?? [])
    .map((one) => one.trim())
    .filter((one) => /[\p{L}\p{N}$]/u.test(one))
    .slice(0, maxSentences)
}

const joins = [
  'but|because|although|though|however|whereas|while|after|once|when|if|unless|until|before|then|instead of|rather than',
  'since|so that|as soon as|yet|so|which|who|despite|even though|as long as|by the time|otherwise|in case|except(?: that)?',
].join('|')
const subjects =
  "i|i've|it|they|we|we've|she|he|you|the|no|nothing|nobody|none|your|my|our|a|an|this|that|there|everything|neither"
const verbs = [
  'was|were|is|are|has|have|had|did|could|does|will|would|then|also|took|gave|paid|sent|bought|ordered|received|got',
  'returned|refunded|placed|made|left|completed|charged|issued|created|approved|never|not|cannot|waited|shipped|still|so',
].join('|')

const namedSubject = String.raw`(?:[A-Z@][\w'&-]*\s){1,3}(?:was|were|is|has|had|took|got|received|approved|refused|denied|declined|charged|agreed|paid|bought|sent|then|also)\b`

/** Matches the separator between two clauses. */
const separator = new RegExp(
  [
    String.raw`;\s+`,
    String.raw`\s-\s`,
    String.raw`\s*[()]\s*`,
    String.raw`,?\s+(?=(?:and |or |even |only |just |right )?(?:${joins})\b)`,
    String.raw`,\s+(?:and\s+|or\s+)?(?=(?:${subjects})\b)`,
    String.raw`,\s+(?:and\s+)?(?=(?:${verbs})\b)`,
    String.raw`\s+and\s+(?=(?:${subjects}|${verbs})\b)`,
    String.raw`(?:,\s+(?:and\s+)?|\s+and\s+)(?=${namedSubject})`,
  ].join('|'),
  'gi',
)

/** Verbs that introduce somebody else's words. */
const says = [
  'says?|said|states?|stated|claims?|claimed|claiming|saying|asks?|asked|asking|wants?|wanted|demands?|demanded|demanding',
  'instructs?|instructed|instructing|tells?|told|telling|requests?|requested|requesting|requires?|required|requiring',
  'suggests?|suggested|directs?|directed|directing|urges?|urged|contains?|contained|containing|tried|tries|trying',
  'insists?|insisted|mentions?|mentioned|mentioning|reads?|attempts?|attempted|attempting|telling|advertises?|offers?',
].join('|')
const speakers = [
  'page|shop|store|site|website|seller|merchant|product|description|descriptions|listing|text|message|note|receipt',
  'name|record|instructions?|prompt|policy|terms|email|notice|confirmation|content|field|banner|data|injection|scam',
  'it|which|that|they|one',
].join('|')
const attribution = new RegExp(
  String.raw`\b(?:${speakers})\b(?:'s)?(?:\s[\w'"-]+){0,6}\s(?:${says})\b|\b(?:according to the (?:page|shop|store|listing|product|receipt|message|name))\b`,
  'i',
)

function clausesIn(sentence: string, at: number): Clause[] {
  let attributed = false
  return sentence
    .split(isLabeled(sentence) ? separator : new RegExp(`${separator.source}|:\\s+`, 'gi'))
    .map((text) => text.trim())
    .filter((text) => /[\p{L}\p{N}$]/u.test(text))
    .map((text) => {
      const lead = leadOf(text)
      if (/^(?:but|so|however|instead|i\b|i've|we\b|nothing|nobody|no\b|then)/i.test(text)) attributed = false
      attributed ||= attribution.test(text)
      return { text, sentence: at, lead, isAttributed: attributed }
    })
}

/** Returns whether a sentence begins with a label, as in "Total: $5.00". A label and its value form a single clause. */
function isLabeled(sentence: string): boolean {
  const [label = ''] = sentence.split(/:\s/)
  const isShort = label.split(/\s+/).length <= 4
  return isShort && !/\b(?:was|were|is|are|has|have|did|not|nothing|no|none)\b|n't\b/i.test(label)
}

function leadOf(text: string): string {
  return (
    new RegExp(String.raw`^(?:and |or |even |only |just |right )?(${joins})\b`, 'i').exec(text)?.[1]?.toLowerCase() ??
    ''
  )
}
