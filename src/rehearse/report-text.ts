import { withoutCardNumbers } from '../core/card-numbers.ts'
import { maskText, maskWords } from './mask.ts'

/**
 * Masks a text that an agent, a shop or a service wrote. Secrets are masked before results are kept; a report goes to
 * others, so it looks again, and also for card numbers that are disguised.
 */
export function withoutSecrets(text: string): string {
  return withoutCardNumbers(maskText(text), { word: maskWords.number, isStrict: true })
}
