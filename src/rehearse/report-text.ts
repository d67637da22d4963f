import { withoutCardNumbers } from '../core/card-numbers.ts'
import { maskText, maskWords } from './mask.ts'

/**
 * Masks a text that an agent, a shop or a service wrote. Results are already masked. A report goes to other people, so
 * it is masked again, including disguised card numbers.
 */
export function withoutSecrets(text: string): string {
  return withoutCardNumbers(maskText(text), { mask: maskWords.number, isStrict: true })
}
