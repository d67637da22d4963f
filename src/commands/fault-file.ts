import { z } from 'zod'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import { FaultRules } from '../service/request/fault-rules.ts'
import { parseFile } from '../worlds/parse-file.ts'
import { openSettingFile } from './setting-file.ts'

/** The schema of a fault file (docs/sandbox.md#faults-in-a-file). */
const faultFile = z.strictObject({
  seed: z.string().max(100).optional().describe('Seed for rules with a probability and no seed of their own'),
  faults: FaultRules,
})

/** Reads the rules from a fault file. @throws ConfigError with one line for each invalid entry */
export async function readFaults(path: string): Promise<readonly FaultRule[]> {
  const { seed, faults } = await openSettingFile('faults', path, (text, name) => parseFile(text, name, faultFile))
  return faults.map((rule) => (rule.when?.probability === undefined || seed === undefined ? rule : { seed, ...rule }))
}
