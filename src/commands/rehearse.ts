import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SingleBar } from 'cli-progress'
import { ConfigError, foreignEnvironment } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { nearestWord } from '../core/spelling.ts'
import { realSystem } from '../core/system.ts'
import type { Agent } from '../rehearse/agent.ts'
import { commandAgent } from '../rehearse/agents/command.ts'
import { manualAgent } from '../rehearse/agents/manual.ts'
import { compare } from '../rehearse/comparison.ts'
import { gradeResults } from '../rehearse/grader.ts'
import { loadScenarios } from '../rehearse/load-scenarios.ts'
import { type RecordedResults, readResults, regrade } from '../rehearse/regrade.ts'
import type { Results, Trial } from '../rehearse/results.ts'
import type { Scenario } from '../rehearse/scenario.ts'
import { baselines } from '../rehearse/scripted/baselines.ts'
import { resultsTable } from '../rehearse/table.ts'
import { defaultBounds, neverCalled } from '../rehearse/trial.ts'
import { isJudged } from '../rehearse/trial-record.ts'
import { rehearseWithTrivial } from '../rehearse/trivial.ts'
import { WorldFileError } from '../worlds/parse-file.ts'
import { explainErrors } from './explain.ts'
import { integerOption } from './integer-option.ts'
import { interruptible } from './interruption.ts'
import { type ModelFlags, modelOf, refuseModelOptions } from './rehearse-model.ts'
import { rehearseMutants } from './rehearse-mutants.ts'
import { openRehearsalStage } from './rehearse-stage.ts'
import {
  appendStepSummary,
  openReportFolder,
  readOlderResults,
  readReport,
  readUnfinishedTrials,
  resultsFile,
  trialsWriter,
  writeReport,
} from './report-folder.ts'
import { startCommand } from './start-command.ts'

export interface RehearseFlags extends ModelFlags {
  maxSeconds: string
  scenarios?: string
  trials: string
  seed: string
  concurrency?: string
  report?: string
  require?: string
  regrade?: string
  compare?: string
  list?: boolean
  strict?: boolean
  mutants?: boolean
  grader?: string
}

/** Rehearses an agent in scenarios, judges each trial by the ledger, and reports the results. */
export async function rehearse(flags: RehearseFlags): Promise<void> {
  await explainErrors(() => explainFileErrors(() => run(flags)))
}

async function run(flags: RehearseFlags): Promise<void> {
  const required = shareOption('--require', flags.require)
  const scenarios = await loadScenarios(namesIn(flags.scenarios))
  if (flags.list === true) return void process.stdout.write(scenarioList(scenarios))
  if (flags.mutants === true) {
    const { agent, seed } = flags
    return rehearseMutants({ agent, scenarios, seed, concurrency: concurrencyOf(flags), required })
  }
  // Reads the older results first, because the new report may overwrite them.
  const older = flags.compare === undefined ? undefined : await olderResults(flags.compare)
  const reportOptions = { required, older, scenarios, isStrict: flags.strict === true, grader: flags.grader }
  if (flags.regrade !== undefined) return regradeFolder(flags, flags.regrade, reportOptions)
  const agent = flags.model === undefined ? chooseAgent(flags) : await modelOf(flags.model, flags)
  const trials = integerOption('--trials', flags.trials, 1_000)
  const concurrency = concurrencyOf(flags)
  const bounds = { ...defaultBounds, ms: 1_000 * integerOption('--max-seconds', flags.maxSeconds, 86_400) }
  const folder = flags.report ?? 'rehearsal'
  // Handles Ctrl+C from here on, before anything is created that an interrupted command would have to remove.
  const interruption = interruptible()
  await openReportFolder('--report', folder)
  const bar = agent.byPerson === true ? undefined : await progressBar(scenarios.length * trials)
  const { name, model } = agent
  const saveTrial = trialsWriter(folder, {
    agent: name,
    seed: flags.seed,
    trials,
    ...(model === undefined ? {} : { model }),
  })
  let passed = 0
  const { results, interrupted } = await rehearseWithTrivial({
    scenarios,
    agent,
    trials,
    seed: flags.seed,
    openStage: openRehearsalStage,
    openFolder,
    concurrency: agent.byPerson === true ? 1 : concurrency,
    elapsed: () => realSystem.elapsed(),
    isStrict: flags.strict === true,
    bounds,
    signal: interruption.signal,
    onTrial: (trial, scenario) => {
      saveTrial(trial, scenario)
      passed += trial.passed ? 1 : 0
      bar?.increment(1, { passed })
    },
  }).finally(() => {
    bar?.stop()
    interruption.end()
  })
  const trouble = interrupted ? undefined : findTrouble(results, agent)
  if (trouble !== undefined) {
    await writeFiles(folder, results)
    const advice = `${trouble} The report is ${join(folder, 'report.html')}.`
    const got = show(agent.name)
    if (agent.model === undefined)
      throw new ConfigError(`--agent got ${got}, which did nothing in any trial. ${advice}`)
    throw new ConfigError(`--model got ${got}, whose provider failed in every trial: ${advice}`)
  }
  await report(folder, results, reportOptions)
  if (interrupted) process.exitCode = 130
}

function concurrencyOf({ concurrency }: RehearseFlags): number {
  return concurrency === undefined ? availableParallelism() : integerOption('--concurrency', concurrency, 64)
}

/**
 * Returns the reason why no trial says anything about the agent; undefined if at least one trial does. A trial says
 * nothing if the model's provider failed, or if the agent is a command that made no call. Any other agent may choose to
 * make no call.
 */
function findTrouble({ scenarios }: Results, agent: Agent): string | undefined {
  const trials = scenarios.flatMap((scenario) => scenario.trials)
  const mayDoNothing = agent.isScripted || agent.byPerson === true
  const isMeaningful = ({ ended, calls }: Trial) =>
    calls > 0 || agent.model !== undefined || (mayDoNothing && ended !== 'failed')
  if (trials.some((trial) => isJudged(trial) && isMeaningful(trial))) return undefined
  return trials.find(({ trouble }) => trouble !== null)?.trouble ?? neverCalled
}

async function regradeFolder(flags: RehearseFlags, folder: string, reportOptions: ReportOptions): Promise<void> {
  const agentFlag = flags.agent === undefined ? flags.model && '--model' : '--agent'
  if (agentFlag !== undefined) {
    throw new ConfigError(`--regrade judges existing results without running an agent: remove ${agentFlag}.`)
  }
  const recorded =
    (await readUnfinishedTrials(folder)) ??
    readResults(await readReport('--regrade', folder), join(folder, resultsFile))
  const outputFolder = flags.report ?? folder
  await openReportFolder('--report', outputFolder)
  await report(outputFolder, regrade(recorded, reportOptions.scenarios, reportOptions), reportOptions)
}

async function olderResults(path: string): Promise<RecordedResults> {
  const { text, path: file } = await readOlderResults('--compare', path)
  return readResults(text, file)
}

interface ReportOptions {
  required: number | undefined
  older: RecordedResults | undefined
  scenarios: readonly Scenario[]
  isStrict: boolean
  grader: string | undefined
}

async function report(folder: string, found: Results, reportOptions: ReportOptions): Promise<void> {
  const { required, older, grader } = reportOptions
  const compared = older === undefined ? found : withComparison(found, older, reportOptions)
  const results = grader === undefined ? compared : await withOpinions(compared, grader)
  await writeFiles(folder, results)
  process.stdout.write(`${resultsTable(results)}\nReport: ${join(folder, 'report.html')}\n`)
  const { passed, of } = results.summary.passed
  if (required === undefined && passed < of) process.stdout.write(exitCodeHint)
  if (required !== undefined && !isEnough(results, required)) process.exitCode = 1
}

async function writeFiles(folder: string, results: Results): Promise<void> {
  await writeReport(folder, results)
  const summary = foreignEnvironment().GITHUB_STEP_SUMMARY
  if (summary !== undefined && summary !== '') await appendStepSummary(summary, results)
}

/** Returns whether at least the required share of trials passed. Trials that were not judged count as not passed. */
function isEnough({ summary: { passed, notJudged = 0 } }: Results, required: number): boolean {
  const of = passed.of + notJudged
  return of > 0 && passed.passed / of >= required
}

/** A hint after failed trials, for people who expect failed trials to change the exit code. */
const exitCodeHint = 'Failed trials do not change the exit code, unless --require SHARE is given.\n'

/** Adds the grader's opinions of the answers. After an interruption, the remaining answers are not graded. */
async function withOpinions(results: Results, grader: string): Promise<Results> {
  const { signal, end } = interruptible()
  try {
    return await gradeResults(results, grader, { env: foreignEnvironment(), system: realSystem, signal })
  } finally {
    end()
  }
}

/** Adds a comparison with older results, which are first judged again by the current scenarios. */
function withComparison(results: Results, older: RecordedResults, { scenarios, isStrict }: ReportOptions): Results {
  const tasks = new Map(older.scenarios.map(({ scenario }) => [scenario.id, scenario.task]))
  return { ...results, comparison: compare(results, regrade(older, scenarios, { isStrict }), tasks) }
}

/** Reports a mistake in a scenario file in the same way as a mistake in an option. */
async function explainFileErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw error instanceof WorldFileError ? new ConfigError(error.message) : error
  }
}

function chooseAgent(flags: RehearseFlags): Agent {
  const agentFlag = flags.agent
  refuseModelOptions(flags)
  const names = Object.keys(baselines)
  if (agentFlag === undefined || agentFlag.trim() === '') {
    const got = agentFlag === undefined ? 'is missing' : `got ${show(agentFlag)}`
    throw new ConfigError(
      `--agent ${got}; it accepts a command, wait, ${names.slice(0, -1).join(', ')} or ${names.at(-1)}. Or give --model.`,
    )
  }
  if (Object.hasOwn(baselines, agentFlag)) return baselines[agentFlag as keyof typeof baselines]
  const start = startCommand({})
  if (agentFlag === 'wait') return manualAgent({ input: process.stdin, output: process.stdout, start })
  const nearestName = nearestWord(agentFlag, [...names, 'wait'])
  // Without this check, a misspelled name would run as a command and fail in every trial.
  if (nearestName !== undefined) {
    throw new ConfigError(
      `--agent got ${show(agentFlag)}; did you mean ${nearestName}? To run a command of that name, give its path.`,
    )
  }
  return commandAgent(agentFlag, { env: foreignEnvironment(), start, system: realSystem })
}

const namesIn = (list: string | undefined) =>
  (list ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

function shareOption(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = /^(?:0|1|0?\.\d{1,6}|0\.\d{1,6}|1\.0+)$/.test(text) ? Number(text) : Number.NaN
  if (value >= 0 && value <= 1) return value
  throw new ConfigError(`${flag} got ${show(text)}; it accepts a share from 0 to 1, such as 0.95.`)
}

function scenarioList(scenarios: readonly Scenario[]): string {
  const width = Math.max(...scenarios.map(({ id }) => id.length))
  const lines = scenarios.map(({ id, group, attack, title }) => {
    return `${id.padEnd(width)}  ${(group ?? '').padEnd(10)}  ${attack ? 'attack' : '      '}  ${title}`
  })
  return `${lines.join('\n')}\n`
}

/** Creates a temporary folder for one trial. Returns its path, and a function that removes the folder. */
async function openFolder() {
  const path = await mkdtemp(join(tmpdir(), 'payments-mcp-rehearse-'))
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}

/** Shows a progress bar if stderr is a terminal. */
async function progressBar(trials: number): Promise<SingleBar | undefined> {
  if (!process.stderr.isTTY) return undefined
  const { default: progress } = await import('cli-progress')
  const bar = new progress.SingleBar({
    format: '{bar} {value}/{total} trials, {passed} passed, {duration_formatted}',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  })
  bar.start(trials, 0, { passed: 0 })
  return bar
}
