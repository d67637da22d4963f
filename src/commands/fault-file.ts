import { z } from 'zod'
import { FaultRule } from '../../tools/sandbox-faults.ts'
import { wrongRules } from '../service/request/load-faults.ts'
import { mostRules } from '../service/store/faults.ts'
import { parseFile } from '../worlds/parse-file.ts'
import { openGivenFile } from './given-file.ts'

/** A file of faults (docs/sandbox.md#faults-in-a-file). */
const faultFile = z.strictObject({
  seed: z.string().max(100).optional().describe('For the probabilities of rules without a seed of their own'),
  faults: z
    .array(FaultRule)
    .max(mostRules)
    .superRefine((rules, { issues }) => {
      for (const { index, path, detail } of wrongRules(rules)) {
        issues.push({ code: 'custom', message: goesOn(path, detail), input: rules, path: [index, path] })
      }
    }),
})

/** What the API says of a field, as it is told behind the field's name and value in a file. */
function goesOn(path: string, detail: string): string {
  const words = detail.replace(/, got "[^"]*"/, '').replace(/\. Did you mean (\S+)\?$/, ' (did you mean $1?)')
  const goes = words.startsWith(`${path} `)
    ? words.slice(path.length + 1)
    : `is missing: ${words.charAt(0).toLowerCase()}${words.slice(1)}`
  return goes.replace(/\.$/, '')
}

/** The rules of a file. @throws ConfigError with a line for each mistake in it. */
export async function readFaults(path: string): Promise<readonly FaultRule[]> {
  const { seed, faults } = await openGivenFile('faults', path, (text, name) => parseFile(text, name, faultFile))
  return faults.map((rule) => (rule.when?.probability === undefined || seed === undefined ? rule : { seed, ...rule }))
}
