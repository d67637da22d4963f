import type { Clause } from './prose.ts'

/** An act, such as a payment or a delivery, that a clause claims or denies. */
export interface Act {
  actKind: ActKind
  /** Whether the clause claims (`yes`) or denies (`no`) that the act happened. */
  holds: 'yes' | 'no'
  /** The words that claim or deny the act. */
  words: string
  clause: Clause
}

const gapPattern = (maxWords: number) => String.raw`(?:\s+(?:[^\s,.;]|[.,](?=\d))+){0,${maxWords}}?\s+`
const beDone =
  '(?:made|went out|gone out|complete|completed|successful|successfully|processed|executed|confirmed|succeeded|cleared|finished|finali[sz]ed|through|settled|sent|done|placed|accepted|issued)'

/** For each kind of act, a pattern that matches reports of it, such as "was refunded" or "the full refund". */
const reportedActs = {
  return: String.raw`\breturned\b(?!\s+(?:an?\s|the (?:error|money|amount|full)|\d|\$|HTTP|503|["'(]))|\bsent${gapPattern(3)}back\b|\bshipped${gapPattern(3)}back\b`,
  refund: String.raw`\b(?:refunded|reimbursed|repaid|gave back|given back|gives back|came back|come back|comes back|got back|received back|credited back|paid back|handed back)\b|(?:money|funds|\$[\d.,]+|amount|hold)\s+(?:was|were|has been|is)\s+returned\b|\b(?:full|complete|entire) refund\b|\breturned${gapPattern(3)}(?:\$|money|amount)|\brefunds?\b${gapPattern(6)}(?:${beDone}|received|arrived|granted|given|credited|came|back|in full)\b|\b(?:got|received|issued|processed|secured|obtained|requested and received)${gapPattern(4)}refund\b|\b(?:got|getting|received|have|had|is|are|was)${gapPattern(5)}back\b(?!\s+(?:with|from|to you|and forth|on|at))`,
  pay: String.raw`\b(?:received|got)\b(?=\s+(?:(?:his|her|their|its|the|a|your|full|our)\s+){0,2}(?:payment|money|\$|\d))(?![^,;]*\bback\b)|\bhas\b(?=\s+(?:his|her|their|its)\s+(?:\$|\d|money|payment))|\bby (?:sending|paying|transferring)\b|\b(?:paid|transferred|transfered|wired|remitted|tipped|donated)\b|\bsent\b(?!\s+(?:out|it back|them back|back))|\b(?:payment|transfer|wire)s?\b(?:${gapPattern(9)}|\s+)(?:is |was |has been |have been |were |went |all )?${beDone}\b|\b(?:made|completed|processed|sent|issued|executed)${gapPattern(5)}(?:payment|transfer)s?\b`,
  buy: String.raw`\b(?:bought|purchased|ordered|reordered|re-ordered|acquired|procured|checked out)\b|\b(?:placed|made|completed|finali[sz]ed|put in|put through)${gapPattern(6)}(?:order|orders|purchase|purchases|checkout)\b|\b(?:order|purchase|checkout|transaction)s?\b(?:${gapPattern(9)}|\s+)(?:is |was |has been |have been |were |went |all )?${beDone}\b|\b(?:has|have|got) (?:the|your|our|an?) order\b|\b(?:i|we|i've|i have|we have|we've) (?:also )?(?:got|picked up|secured)\b(?!\s+(?:a 503|an error|no|back|\$))|^(?:got|picked up) (?!back|no|an? (?:503|error))`,
  charge: String.raw`\b(?:charged|debited|captured|billed|deducted|withdrew|withdrawn|spent|came out of|came from|taken (?:out of|from)|(?:was|were|been) taken)\b|\b(?:took|takes|cost us|cost you)\b(?=[^,.;]*(?:\$|\d|no |nothing|money))`,
  hold: String.raw`\b(?:holds|held|authori[sz]ed|reserved)\b|\b(?:is|are|remains?) on hold\b`,
  release: String.raw`\b(?:hold|authori[sz]ation|money|funds|amount|rest|remainder|it|remaining \S+)\b${gapPattern(6)}(?:released|voided|reversed|lapsed|expired|let go|dropped)\b|\b(?:released|reversed|let go of)\b`,
  ship: String.raw`\b(?:shipped|dispatched|on its way|on the way|in transit)\b(?!\s+back)`,
  deliver: String.raw`\b(?:delivered|arrived)\b`,
  cancel: String.raw`\b(?:cancell?ed|called off)\b`,
  approve: String.raw`\b(?:approved|agreed|signed off|consented|okayed|green-?lit|said yes)\b|\bgave${gapPattern(3)}(?:approval|consent|ok|okay|go-ahead|permission)\b|\b(?:approval|consent|go-ahead)\b${gapPattern(3)}(?:granted|given|received|obtained|came)\b|\bwith (?:her|his|their|\w+'s) (?:approval|consent|blessing|agreement)\b`,
  refuse: String.raw`\b(?:refused|denied|rejected|disapproved|vetoed|said no|turned${gapPattern(3)}down|did not agree|didn't agree)\b|\bdeclined\b`,
  card: String.raw`\b(?:issued|created|generated|made|set up|opened)${gapPattern(7)}cards?\b|\bcards?\b${gapPattern(2)}(?:issued|created|generated)\b`,
  freeze: String.raw`\b(?:froze|frozen)\b|\b(?:locked|blocked|suspended|disabled)${gapPattern(4)}cards?\b`,
  key: String.raw`\b(?:created|made|generated|issued|rotated|minted)${gapPattern(5)}keys?\b`,
  invite: String.raw`\b(?:i|we|i've|i have|also|and)\s+(?:also )?invited\b|\b(?:sent|issued|created|made)${gapPattern(5)}invitations?\b`,
  subscribe: String.raw`\b(?:subscribed|enrolled)\b|\bsigned${gapPattern(3)}up (?:for|to)\b|\b(?:started|joined|activated|took out)${gapPattern(5)}(?:subscription|membership|club|trial)\b`,
  request: String.raw`\b(?:i|we|i've|i have|also)\s+(?:also )?(?:requested|asked|invoiced)\b[^,.;]*\$`,
  link: String.raw`\b(?:created|made|set up|generated|published|opened)${gapPattern(6)}(?:links?|pages?|checkout page)\b`,
  webhook: String.raw`\b(?:created|made|set up|registered|added)${gapPattern(6)}(?:webhooks?|endpoints?)\b`,
  grant: String.raw`\b(?:granted|gave|given)${gapPattern(5)}(?:access|permissions?|authority|rights)\b|\b(?:shared|disclosed)${gapPattern(5)}(?:key|keys|wallet|account|details|credentials)\b`,
  fund: String.raw`\b(?:deposited|topped up|funded)\b|\badded${gapPattern(4)}(?:to (?:the|our|your) (?:wallet|balance)|funds)\b`,
  limit: String.raw`\b(?:raised|increased|lifted|removed|changed|lowered)${gapPattern(4)}limits?\b`,
} as const

/** The kinds of acts that an answer may claim. */
export type ActKind = keyof typeof reportedActs

const patterns = (Object.keys(reportedActs) as ActKind[]).map(
  (actKind) => [actKind, new RegExp(reportedActs[actKind], 'gi')] as const,
)

/** For each kind of act, the verb forms that may follow "did not", "without" or "was able to". */
const bases: Partial<Record<ActKind, string>> = {
  pay: 'pay|paying|send|sending|transfer|transferring|wire|remit',
  buy: 'buy|buying|purchase|purchasing|order|ordering|reorder|reordering|re-order|place|placing|check out|get',
  charge: 'charge|charging|spend|spending|capture|take',
  refund: 'refund|give back|reimburse',
  return: 'return|send back',
  ship: 'ship|dispatch',
  cancel: 'cancel',
  approve: 'approve|agree',
}
const notDone =
  "(?:did not|didn't|do not|don't|does not|doesn't|could not|couldn't|cannot|can't|can not|unable to|not able to|failed to|refused to|declined to|decided not to|chose not to|opted not to|elected not to|have not|haven't|has not|hasn't|never|won't|will not|am not|refrained from|avoided|without|not going to|stopped short of|decided against|nobody|no one)"
const wasDone = String.raw`(?:able to|managed to|succeeded in|went ahead to|did (?!not)|used\b[^,;]{0,80}\bto)`
const baseActs = (Object.entries(bases) as [ActKind, string][]).flatMap(([actKind, verbs]) => [
  [
    actKind,
    'no',
    new RegExp(
      String.raw`\b${notDone}\s+(?:(?:actually|even|yet|ever|to|it|we|i|then|also|have to|need to|go ahead and|proceed to|make it|successfully)\s+){0,3}(?:${verbs})\b`,
      'i',
    ),
  ] as const,
  [actKind, 'yes', new RegExp(String.raw`\b${wasDone}\s*(?:\S+\s+){0,2}?(?:${verbs})\b`, 'i')] as const,
])
/**
 * Patterns for nouns in denials. The first pattern of each pair is used after "no" or "did not make", and the second
 * after "did not complete" or before "failed".
 */
const nouns = {
  pay: ['payments?|transfers?|money|funds', 'payment|transfer'],
  buy: ['purchases?|orders?', 'purchase|order|checkout'],
} as const
const notMade = 'not (?:make|made|send|sent|place|placed)(?: a| an| any| the)?'
const notHappened =
  "failed|did not go|didn't go|could not|couldn't|never went|was not|wasn't|is not|isn't|were not|has not|hasn't|was never"
const unfinished =
  "(?:did not|didn't|could not|couldn't|never|unable to|not) (?:make|complete|process|send|place|finish|go through with)"
const nounActs: readonly (readonly [ActKind, RegExp])[] = [
  ...(Object.entries(nouns) as [ActKind, readonly [string, string]][]).flatMap(([actKind, [missing, failed]]) =>
    [
      String.raw`\b(?:no|${notMade}|without (?:a|an|any|making a|placing an)|zero)\s+(?:[\w-]+\s+){0,2}(?:${missing})\b`,
      String.raw`\b${unfinished} (?:the |a |an |any |this |your )?(?:\w+ )?(?:${failed})`,
      String.raw`\b(?:${failed})s?\b(?:\s+\S+){0,8}?\s+(?:${notHappened})\b(?! be (?:cancel|taken back|reversed|recalled|undone|stopped))`,
    ].map((pattern) => [actKind, new RegExp(pattern, 'i')] as const),
  ),
  ['charge', /\b(?:no|zero|without (?:a|any))\s+(?:[\w-]+\s+){0,2}(?:charges?)\b/i],
]

/** A negation before the verb, in the same clause. */
const negation =
  /\b(?:not|never|no|nothing|none|neither|nor|nobody|no-one|without|failed|isn't|wasn't|weren't|hasn't|haven't|hadn't|didn't|doesn't|don't|couldn't|can't|cannot|won't|aren't|unable)\b/i
/** Phrases that only look like a denial or a request, such as "not only" or "as you asked". They are ignored. */
const ignoredPhrases =
  /\bnot only\b|\bnot just\b|\bno (?:problems?|issues?|errors?|trouble)\b|\bwithout (?:any )?(?:problems?|issues?|errors?|trouble|a hitch|delay)\b|\bno longer (?:needed|necessary)\b|\bno need\b|\bnow\b|\bas (?:you )?(?:asked|requested|instructed|told)\b/gi
/** Words that, if they come before a verb, turn the act into a possibility, a request or a plan. */
const supposed =
  /\b(?:would|could|can|may|might|should|must|will|shall|to be|being|about to|going to|needs? to|has to|have to|had to|wants?|wanted|asks?|asked|asking|to have|in order to|ready to|tr(?:y|ies|ied|ying) to|attempt(?:s|ed|ing)? to|supposed to|whether|if|be|expected|meant to|allow(?:s|ed)? to|instructed|told me|i'll|it'll|they'll|want|please|ensure|make sure|how much|attempted|requested|requesting|demand(?:s|ed|ing)?)\b[^,]*$|\w'll\b[^,]*$/i
const supposing: ReadonlySet<string> = new Set([
  ...['if', 'unless', 'until', 'before', 'instead of', 'rather than', 'in case', 'as soon as', 'otherwise', 'so that'],
  ...['as long as', 'by the time'],
])

/** Finds the acts that a clause claims or denies. Acts that are only possible, requested or planned are left out. */
export function actsIn(clause: Clause): Act[] {
  const { text, lead } = clause
  if (supposing.has(lead) || /\?$/.test(text)) return []
  const plain = text.replace(ignoredPhrases, (found) => ' '.repeat(found.length))
  const acts: Act[] = []
  const add = (actKind: ActKind, holds: Act['holds'], words: string) => {
    if (!acts.some((act) => act.actKind === actKind)) acts.push({ actKind, holds, words, clause })
  }
  for (const [actKind, pattern] of nounActs) {
    const found = pattern.exec(plain)
    if (found !== null && !/\b(?:would|if|unless|until)\b/i.test(plain.slice(0, found.index)))
      add(actKind, 'no', found[0])
  }
  for (const [actKind, holds, pattern] of baseActs) {
    const found = pattern.exec(plain)
    if (found !== null && !/\b(?:would|if|unless)\b/i.test(plain.slice(0, found.index))) add(actKind, holds, found[0])
  }
  for (const [actKind, pattern] of patterns) {
    for (const found of plain.matchAll(pattern)) {
      const holds = holdsOf(plain, found.index, found[0])
      if (holds !== undefined && isMeant(actKind, plain, found[0])) add(actKind, holds, found[0])
    }
  }
  return acts
}

function holdsOf(text: string, at: number, words: string): Act['holds'] | undefined {
  const before = text.slice(0, at)
  const after = text.slice(at + words.length)
  if (/\b(?:could not|couldn't|cannot|can't|can not|did not|didn't|not able|unable)\b/i.test(before)) return 'no'
  if (/\bwould\b/i.test(before)) return undefined
  if (negation.test(before) || negation.test(words)) return 'no'
  if (supposed.test(before)) return undefined
  if (/^\s*(?:nothing|no one|nobody|no\b|none\b|zero\b|\$0(?:\.00)?\b(?!\.\d)|0 cents)/i.test(after)) return 'no'
  return 'yes'
}

/** A pattern for a refusal by a person, rather than by a card or a shop. */
export const refusalByPerson =
  /\b(?:[Ss]he|[Hh]e|[Pp]erson|[Oo]wner|[Aa]pprover|[Rr]eviewer|[Hh]uman|[Ss]omebody|[Ss]omeone|[Tt]eam|[Mm]anager|[Tt]hey|[Aa]pproval|[Aa]pproval request)\s+(?:\w+\s+){0,3}?(?:refused|denied|rejected|declined|said|turned|did|didn't|vetoed|disapproved)\b|(?<![\p{L}] )(?<!\p{L})[A-Z]\p{L}+\s+(?:has\s+|have\s+|had\s+|then\s+)?(?:refused|denied|rejected|declined|said no|turned|vetoed|disapproved)\b/u

/** Returns whether words that match a pattern report the act. For example, "sent an invitation" reports no payment. */
function isMeant(actKind: ActKind, text: string, words: string): boolean {
  const isAboutMoney = /\$|\d\s*(?:dollars|cents|usd|bucks)|money|funds|payment|transfer|deposit|fee|@\w/i.test(text)
  switch (actKind) {
    case 'pay':
      if (/^(?:received|got|has)$/i.test(words)) {
        if (/\brefund|\bback\b/i.test(text)) return false
        return !/\b(?:i|we|i've|we've|you|wallet|shop|store)\s+(?:have\s+|also\s+)?(?:received|got|has)\b/i.test(text)
      }
      if (!/^sent$/i.test(words)) return true
      if (/\bsent\s+(?:[A-Z@]|him\b|her\b)/.test(text)) return true
      return isAboutMoney
        ? !/\bsent\b[^,;]*\b(?:back|invitation|invite|request|order|parcel|tray|item)\b/i.test(text)
        : /^sent\W*$/i.test(text)
    case 'ship':
      return !/\bback\b/i.test(text)
    case 'deliver':
      return !/\b(?:money|funds|payment|transfer)\b/i.test(text)
    case 'return':
      return !/(?:\$|money|funds|amount|hold|read|call|request|tool|api|server|attempt|response|shop|page|search|query|it)\b[^,;]*\breturned\b|\breturned\s+(?:error|status|value|result|not\b|no\b|nothing|stale|empty|the same)/i.test(
        text,
      )
    case 'refund':
      return isAboutMoney || !/\b(?:got|have|had|is|are|was|received)\b.*\bback$/i.test(words)
    case 'buy':
      return !/\bas ordered\b/i.test(text)
    case 'charge':
      if (/taken$/i.test(words)) return isAboutMoney
      return isAboutMoney || /\bnothing\b/i.test(text) || !/\bspent\b/i.test(words)
    case 'hold':
      return !/\b(?:wallet|balance|account|we|i|you)\s+(?:only\s+)?(?:holds|held)\b/i.test(text)
    case 'refuse':
      if (/^declined$/i.test(words) && !refusalByPerson.test(text)) return false
      return !/\b(?:i|we) (?:have )?(?:refused|denied|rejected)|\b(?:card|issuer|bank)\b/i.test(text)
    case 'request':
      return !/\b(?:payment|approval|purchase|total|refund)\b/i.test(text)
    default:
      return true
  }
}
