import { z } from 'zod'
import { FaultRule } from '../../../tools/sandbox-faults.ts'
import { maxRules } from '../store/faults.ts'
import { wrongRules } from './load-faults.ts'

/** The fault rules in a file. The file may also contain other parts (docs/sandbox.md#faults-in-a-file). */
export const FaultRules = z
  .array(FaultRule)
  .max(maxRules)
  .superRefine((rules, { issues }) => {
    for (const { index, path, detail } of wrongRules(rules)) {
      issues.push({ code: 'custom', message: phraseAfterField(path, detail), input: rules, path: [index, path] })
    }
  })

/** Returns the API's message about a field, reworded to follow the field's name and value in a file. */
function phraseAfterField(path: string, detail: string): string {
  const words = detail.replace(/, got "[^"]*"/, '').replace(/\. Did you mean (\S+)\?$/, ' (did you mean $1?)')
  const phrase = words.startsWith(`${path} `)
    ? words.slice(path.length + 1)
    : `is missing: ${words.charAt(0).toLowerCase()}${words.slice(1)}`
  return phrase.replace(/\.$/, '')
}
