import { writeFileSync } from 'node:fs'
import { access, appendFile, constants, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { junitXml } from '../rehearse/junit.ts'
import { openTelemetryJson } from '../rehearse/opentelemetry.ts'
import { type RecordedResults, readTrials } from '../rehearse/regrade.ts'
import { resultsOf } from '../rehearse/rehearse.ts'
import { reportHtml } from '../rehearse/report/report.ts'
import type { Results, Trial } from '../rehearse/results.ts'
import type { Scenario } from '../rehearse/scenario.ts'
import { summaryMarkdown } from '../rehearse/summary.ts'
import { codeOf } from './explain.ts'

export const resultsFile = 'results.json'
/** The file with the finished trials of a running or killed rehearsal. Writing the report deletes this file. */
const trialsFile = 'trials.jsonl'

/**
 * Creates the folder of a report if the folder does not exist. Call this before the rehearsal, so that an unusable path
 * is reported early.
 */
export async function openReportFolder(flag: string, folder: string): Promise<void> {
  try {
    await makeFolder(resolve(folder))
    await access(folder, constants.W_OK)
  } catch (error) {
    throw new ConfigError(`${flag} got ${show(folder)} (${codeOf(error)}); it accepts a writable folder.`)
  }
}

/** Creates a folder and its missing parents. Does not use `mkdir` with `recursive`, which hangs below `/proc`. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await mkdir(folder)
  }
}

/**
 * Creates an empty file for finished trials.
 * @returns a function that adds a trial to the file
 */
export function trialsWriter(folder: string, header: Pick<Results, 'agent' | 'seed' | 'trials' | 'model'>) {
  const write = (flag: 'w' | 'a', text: string) => {
    try {
      writeFileSync(join(folder, trialsFile), text, { flag })
    } catch (error) {
      throw writeError(folder, error)
    }
  }
  write('w', '')
  return (trial: Trial, scenario: Scenario): void =>
    write('a', `${JSON.stringify({ format: 1, ...header, scenarios: [resultsOf(scenario, [trial])] })}\n`)
}

const writeError = (folder: string, error: unknown) =>
  new ConfigError(`The report could not be written to ${show(folder)} (${codeOf(error)}).`)

/** Reads the finished trials of a rehearsal that was killed. Returns undefined if there are none. */
export async function readUnfinishedTrials(folder: string): Promise<RecordedResults | undefined> {
  const path = join(folder, trialsFile)
  const text = await readFile(path, 'utf8').catch(() => '')
  return readTrials(text, path)
}

/** Writes all files of a report, at first under temporary names. If a write fails, the previous report stays. */
export async function writeReport(folder: string, results: Results): Promise<void> {
  // These are functions, so that only one file's text is in memory at a time.
  const files = {
    [resultsFile]: () => `${JSON.stringify(results, null, 1)}\n`,
    'junit.xml': () => junitXml(results),
    'report.html': () => reportHtml(results),
    'summary.md': () => summaryMarkdown(results),
    'traces.json': () => openTelemetryJson(results),
  }
  const written: [temporary: string, path: string][] = []
  try {
    for (const [name, render] of Object.entries(files)) {
      const temporary = join(folder, `.${name}.${process.pid}`)
      written.push([temporary, join(folder, name)])
      await writeFile(temporary, render(), { flush: true })
    }
    for (const [temporary, path] of written) await rename(temporary, path)
  } catch (error) {
    await Promise.all(written.map(([temporary]) => rm(temporary, { force: true })))
    throw writeError(folder, error)
  }
  await rm(join(folder, trialsFile), { force: true })
}

/** Appends a summary to the file that GitHub Actions shows for a step. If that fails, only prints a message. */
export async function appendStepSummary(path: string, results: Results): Promise<void> {
  try {
    await appendFile(path, `${summaryMarkdown(results)}\n`)
  } catch (error) {
    process.stderr.write(`The summary could not be added to GITHUB_STEP_SUMMARY ${show(path)} (${codeOf(error)}).\n`)
  }
}

/** Returns the content of a folder's results file. @throws ConfigError */
export async function readReport(flag: string, folder: string): Promise<string> {
  return readResultsFile(flag, folder, join(folder, resultsFile), `a folder with a ${resultsFile}`)
}

/** Returns the path and content of a results file. `path` names the file or its folder. @throws ConfigError */
export async function readOlderResults(flag: string, path: string): Promise<{ path: string; text: string }> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  const file = isFolder ? join(path, resultsFile) : path
  return { path: file, text: await readResultsFile(flag, path, file, `the path of a ${resultsFile}`) }
}

async function readResultsFile(flag: string, folder: string, file: string, accepted: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new ConfigError(
      `${flag} got ${show(folder)} (${codeOf(error)}); it accepts ${accepted}, which rehearse writes.`,
    )
  }
}
