import { z } from 'zod'
import { FaultRule } from '../../../tools/sandbox-faults.ts'
import { maxRules } from '../store/faults.ts'
import { ruleConflicts } from './load-faults.ts'

/**
 * The list of fault rules in a file. The file may also have fields besides this list
 * (docs/sandbox.md#faults-in-a-file).
 */
export const FaultRules = z
  .array(FaultRule)
  .max(maxRules)
  .superRefine((rules, { issues }) => {
    for (const { index, path, detail } of ruleConflicts(rules)) {
      issues.push({ code: 'custom', message: phraseAfterField(path, detail), input: rules, path: [index, path] })
    }
  })

/** Rewords an API error about a field, so that the text can follow the field's name in an error about a file. */
function phraseAfterField(path: string, detail: string): string {
  const words = detail.replace(/, got "[^"]*"/, '').replace(/\. Did you mean (\S+)\?$/, ' (did you mean $1?)')
  const phrase = words.startsWith(`${path} `)
    ? words.slice(path.length + 1)
    : `is missing: ${words.charAt(0).toLowerCase()}${words.slice(1)}`
  return phrase.replace(/\.$/, '')
}
