import { z } from 'zod'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import { FaultRules } from '../service/request/fault-rules.ts'
import { parseFile } from '../worlds/parse-file.ts'
import { openSettingFile } from './setting-file.ts'

/** A file of faults (docs/sandbox.md#faults-in-a-file). */
const faultFile = z.strictObject({
  seed: z.string().max(100).optional().describe('Seed for the probabilities of rules that have no seed'),
  faults: FaultRules,
})

/** Reads the rules of a file. @throws ConfigError with a line for each mistake in it. */
export async function readFaults(path: string): Promise<readonly FaultRule[]> {
  const { seed, faults } = await openSettingFile('faults', path, (text, name) => parseFile(text, name, faultFile))
  return faults.map((rule) => (rule.when?.probability === undefined || seed === undefined ? rule : { seed, ...rule }))
}
