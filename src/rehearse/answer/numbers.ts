import { type Amount, amountsIn } from '../mentions.ts'

const units =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const tens = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const numberWord = `(?:${[...units, ...tens.slice(2), 'hundred', 'thousand'].join('|')})`
const wordAmounts = new RegExp(
  String.raw`\b(${numberWord}(?:[\s-]+(?:and\s+)?${numberWord})*)\s+(dollars?|bucks|cents?)(?:\s+and\s+(${numberWord}(?:[\s-]+${numberWord})*)\s+cents?)?\b`,
  'gi',
)

/** Converts a number in words, such as "ninety-five", to a number. */
export function numberOf(text: string): number {
  let [total, part] = [0, 0]
  for (const word of text.toLowerCase().split(/[\s-]+/)) {
    if (units.includes(word)) part += units.indexOf(word)
    else if (tens.includes(word)) part += 10 * tens.indexOf(word)
    else if (word === 'hundred') part = (part || 1) * 100
    else if (word === 'thousand') [total, part] = [total + (part || 1) * 1_000, 0]
  }
  return total + part
}

/** Finds the amounts in a text, in digits or words. Ignores other numbers, such as versions and measurements. */
export function readAmounts(text: string): Amount[] {
  const inWords = [...text.matchAll(wordAmounts)].map(({ 0: found, 1: whole = '', 2: unit = '', 3: rest, index }) => {
    const isCents = /^cent/i.test(unit)
    const cents = numberOf(whole) * (isCents ? 1 : 100) + (rest === undefined ? 0 : numberOf(rest))
    return { cents, at: index, length: found.length, isBare: false }
  })
  const inDigits = amountsIn(text).filter(({ at, length, isBare }) => !isBare || mayBeAmount(text, at, length))
  return [...inDigits, ...inWords].toSorted((one, other) => one.at - other.at)
}

/**
 * Returns whether a number without a currency may be an amount: it has two decimals, no label such as "version" before
 * it, and no unit such as "kg" after it.
 */
function mayBeAmount(text: string, at: number, length: number): boolean {
  const [before, after] = [text.slice(0, at), text.slice(at + length)]
  return (
    /\.\d\d$/.test(text.slice(at, at + length)) &&
    !/(?:[#v€£¥:]|\b(?:version|section|step|no|number|id|ref|reference|order|rate|eur|gbp|euros?)\.?:?)\s*$/i.test(
      before,
    ) &&
    !/^\s*(?:kg|g|cm|mm|m|ml|l|inch|inches|in|oz|lb|x|hours?|minutes?|min|seconds?|s|am|pm|stars?|mb|gb|kb|€|£|eur|gbp|euros?|pounds?|hz|w)\b/i.test(
      after,
    )
  )
}

/** A pattern for an amount in a currency other than the dollar. Trials use only dollars. */
export const otherCurrency = /[€£¥₹]\s*\d|\b\d[\d.,]*\s*(?:€|£|eur\b|euros?\b|gbp\b|pounds sterling\b|yen\b|chf\b)/i

const small = units.slice(0, 13).join('|')

/** A pattern for a number of things, in digits or in words. */
export const countPattern = String.raw`(\d{1,3}|${small}|a dozen|a single|a couple of|a pair of)`

export function countOf(text: string): number {
  const word = text.toLowerCase()
  if (word === 'a dozen') return 12
  if (word === 'a single') return 1
  if (/^a (?:couple|pair) of$/.test(word)) return 2
  return units.includes(word) ? units.indexOf(word) : Number(word)
}
