import { withoutCardNumbers } from '../core/card-numbers.ts'
import { maskText, maskWords } from './mask.ts'

/**
 * Masks secrets in text from an agent, a shop or a service. The results are already masked. But reports are passed on
 * to other people, so this function also masks disguised card numbers, such as those within longer numbers.
 */
export function withoutSecrets(text: string): string {
  return withoutCardNumbers(maskText(text), { mask: maskWords.number, isStrict: true })
}
