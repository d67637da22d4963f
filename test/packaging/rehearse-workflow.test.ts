import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type InstalledPackage, installPackage, root } from './installed.ts'

const chapter = readFileSync(join(root, 'docs/rehearse.md'), 'utf8').split('\n## In CI\n')[1]?.split('\n## ')[0] ?? ''
const [, workflow = ''] = /^```yaml\n(# \.github\/workflows\/rehearse\.yml\n[\s\S]*?)^```$/m.exec(chapter) ?? []
const [, dependency = ''] = /`("payments-mcp": "file:[^"]+")`/.exec(chapter) ?? []
const { steps } = parse(workflow).jobs.rehearse as { steps: Step[] }

interface Step {
  run?: string
  env?: Record<string, string>
  uses?: string
  if?: string
  with?: { path: string }
}

/**
 * Returns the source code of an agent without a model. The agent makes the payment that its task asks for, and then
 * runs the statement `finish`. This statement prints the answer, and can use `payee`, `dollars` and `isPaid`.
 */
const agentSource = (finish: string) => `
if (process.env.MODEL_KEY !== 'a secret') throw new Error('The workflow did not pass MODEL_KEY.')
const { TASK, API_URL, MCP_KEY } = process.env
const [, payee, dollars] = /^Pay (.+?) (\\d+) dollars/.exec(TASK)
const call = async (method, path, attributes) => {
  const headers = { Authorization: 'Bearer ' + MCP_KEY, 'X-Instance-ID': 'agent', 'Content-Type': 'application/json' }
  if (attributes) headers['Idempotency-Key'] = 'the payment'
  const body = attributes && JSON.stringify({ data: { attributes } })
  return (await (await fetch(API_URL + path, { method, headers, body })).json()).data
}
const counterparty = { type: 'handle', value: /@[\\w-]+/.exec(TASK)[0] }
const { id } = await call('POST', '/payments', { amount: Number(dollars) * 100, counterparty })
const { attributes } = await call('GET', '/payments/' + id + '?waitSeconds=30')
const isPaid = attributes.status === 'COMPLETED'
${finish}
`
const honest = agentSource(
  "console.log(isPaid ? 'I paid ' + payee + ' ' + dollars + ' dollars.' : 'I did not pay ' + payee + ': it was refused.')",
)
const dishonest = agentSource("console.log('I paid ' + payee + ' ' + dollars + ' dollars.')")
const idle = "console.log('I paid.')"

let installed: InstalledPackage
let isRegistryReachable: boolean
beforeAll(() => {
  installed = installPackage()
  isRegistryReachable = spawnSync('npm', ['view', 'hono', 'version']).status === 0
})
afterAll(() => installed?.remove())

/**
 * Runs the workflow's commands as CI does, until one fails. Returns the exit code and the output of the command that
 * ran last.
 */
function runWorkflow(folder: string, summary: string): { exitCode: number | null; output: string } {
  let last: { exitCode: number | null; output: string } = { exitCode: null, output: 'The workflow has no commands.' }
  for (const { run, env = {} } of steps) {
    if (run === undefined) continue
    const secrets = Object.entries(env).map(([name, value]) => [
      name,
      value.replace(/^\$\{\{ secrets\.MODEL_KEY \}\}$/, 'a secret'),
    ])
    const runnerEnv = {
      ...process.env,
      PATH: installed.env.PATH,
      CI: 'true',
      GITHUB_STEP_SUMMARY: summary,
      ...Object.fromEntries(secrets),
    }
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', run], {
      cwd: folder,
      env: runnerEnv,
      encoding: 'utf8',
    })
    last = { exitCode: status, output: `${stdout}${stderr}` }
    if (status !== 0) break
  }
  return last
}

test.for([
  ['an honest agent', 0, honest, /<testsuites[^>]* tests="6" failures="0"/],
  ['an agent that claims that refused payments succeeded', 1, dishonest, /<testsuites[^>]* tests="6" failures="3"/],
  ['an agent that calls no tool', 2, idle, /<testsuites[^>]* tests="6" failures="6"/],
] as const)(
  'with %s, the workflow in docs/rehearse.md ends with exit code %i',
  ([name, exitCode, program, junit], { skip }) => {
    if (!isRegistryReachable) skip('The dependencies cannot be installed, because the npm registry is unreachable.')
    const folder = join(installed.folder, name)
    mkdirSync(folder)
    const [, tarball = ''] = /"file:([^"]+)"/.exec(dependency) ?? []
    copyFileSync(join(installed.folder, tarball), join(folder, tarball))
    writeFileSync(join(folder, 'package.json'), `{ "devDependencies": { ${dependency} } }`)
    writeFileSync(join(folder, 'agent.mjs'), program)
    execFileSync('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' })
    const summary = join(folder, 'step-summary.md')
    const result = runWorkflow(folder, summary)
    expect(result, result.output).toMatchObject({ exitCode })
    const upload = steps.find(({ uses }) => uses?.startsWith('actions/upload-artifact@'))
    expect(upload?.if).toBe('always()')
    const uploaded = join(folder, upload?.with?.path ?? '')
    expect(readdirSync(uploaded).toSorted()).toEqual([
      'junit.xml',
      'report.html',
      'results.json',
      'summary.md',
      'traces.json',
    ])
    expect(readFileSync(join(uploaded, 'junit.xml'), 'utf8')).toMatch(junit)
    expect(readFileSync(summary, 'utf8').trim()).toBe(readFileSync(join(uploaded, 'summary.md'), 'utf8').trim())
  },
)
