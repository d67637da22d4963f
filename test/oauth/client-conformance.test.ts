import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleOf } from '../support/depth.ts'

/** The scenarios for clients that sign in without a browser, from the official MCP conformance tests. */
const scenarios = ['enterprise-managed-authorization', 'client-credentials-jwt', 'client-credentials-basic']

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const conformanceCli = pathOf('../../node_modules/@modelcontextprotocol/conformance/dist/index.js')

let output: string
beforeAll(() => {
  output = mkdtempSync(join(tmpdir(), 'client-conformance-'))
})
afterAll(() => rmSync(output, { recursive: true }))

test.each(sampleOf(scenarios, 3))('payments-mcp login passes the conformance scenario auth/%s', async (scenario) => {
  const command = `${process.execPath} ${pathOf('../conformance/client.ts')}`
  const options = ['--scenario', `auth/${scenario}`, '--timeout', '120000', '-o', output]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...[conformanceCli, 'client', '--command', command],
    ...options,
  ]).catch((failed: { stdout: string; stderr: string }) => failed)
  const printed = stdout + stderr
  expect(printed).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/)
  expect(printed).toContain('OVERALL: PASSED')
})
