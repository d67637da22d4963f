import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { realSystem } from '../core/system.ts'
import { lies } from '../rehearse/mutants/lies.ts'
import { mutants } from '../rehearse/mutants/mutants.ts'
import { countCaught, runMutants } from '../rehearse/mutants/run.ts'
import { mutantsTable } from '../rehearse/mutants/table.ts'
import type { Scenario } from '../rehearse/scenario.ts'
import { interruptible } from './interruption.ts'
import { openRehearsalStage } from './rehearse-stage.ts'

interface MutantFlags {
  agent: string | undefined
  scenarios: readonly Scenario[]
  seed: string
  concurrency: number
  /** The minimum share of mutants that the scenarios must catch; undefined if there is no minimum. */
  required: number | undefined
}

/**
 * Runs mutants (copies of the careful agent that each make one mistake). Prints how many of them the scenarios catch.
 */
export async function rehearseMutants({ agent, required, ...options }: MutantFlags): Promise<void> {
  if (agent !== 'careful') {
    const got = agent === undefined ? 'is missing' : `got ${show(agent)}`
    throw new ConfigError(`--agent ${got}; with --mutants it accepts careful, from which all mutants are derived.`)
  }
  const { signal, end } = interruptible()
  const results = await runMutants({
    ...{ ...options, mutants, lies, signal, openStage: openRehearsalStage },
    openFolder: () => Promise.reject(new Error('Bug: a mutant is a scripted agent, and has no folder.')),
    elapsed: () => realSystem.elapsed(),
  }).finally(end)
  process.stdout.write(mutantsTable(results, options.seed))
  const [caught, of] = countCaught(results.flatMap(({ runs }) => runs))
  if (required !== undefined && (of === 0 || caught / of < required)) process.exitCode = 1
  if (signal.aborted) process.exitCode = 130
}
