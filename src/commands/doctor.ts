import type { Config } from '../config/settings.ts'
import { maskSecrets } from '../core/masking.ts'
import { checkApi } from './check-api.ts'
import { checkHosts } from './check-hosts.ts'
import { checkSandbox } from './check-sandbox.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainErrors } from './explain.ts'
import { type Finding, findOrReport, ok } from './finding.ts'

/** Checks everything that startup needs, and prints the findings with advice. Changes nothing. */
export async function doctor(flags: Flags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('doctor', flags)
    const findings: Finding[] = [ok('Node.js', `${process.versions.node} (${process.execPath})`)]
    for (const [about, check] of checksFor(config)) findings.push(...(await findOrReport(about, check)))
    process.stdout.write(findings.map(findingText).join(''))
    const wrong = findings.filter(({ is }) => is === 'bad').length
    process.stdout.write(wrong === 0 ? '\nNothing is wrong.\n' : `\nProblems to fix: ${wrong}.\n`)
    if (wrong > 0) process.exitCode = 1
  })
}

function checksFor(config: Config): [string, () => Promise<Finding[]>][] {
  const hosts: [string, () => Promise<Finding[]>] = ['AI hosts', checkHosts]
  if (config.baseUrl !== undefined) return [['API', () => checkApi(config)], hosts]
  return [['Sandbox', () => checkSandbox(config)], ['Login', () => checkApi(config)], hosts]
}

const marks = { ok: 'ok  ', note: 'note', bad: 'BAD ' } as const satisfies Record<Finding['is'], string>

function findingText({ about, is, says, advice }: Finding): string {
  const line = `${marks[is]} ${about.padEnd(15)} ${says}\n`
  return maskSecrets(advice === undefined ? line : `${line}${' '.repeat(21)}→ ${advice}\n`)
}
