import { spawnSync } from 'node:child_process'
import { expect, it, test } from 'vitest'
import { terminalLine } from '../../src/config/terminal-lines.ts'
import { loggedPath } from '../../src/core/logged-path.ts'

const base = { time: '2026-01-02T03:04:05.678Z', level: 'info' }

it('a log line on a terminal shows the time, caller, operation, dollars, result and duration', () => {
  const call = { ...base, operation: 'create_payment', agentId: `agt_${'0'.repeat(26)}abcdef`, status: 200, ms: 12 }
  expect(terminalLine(JSON.stringify({ ...call, amount: 4250, msg: 'answered' }))).toBe(
    '03:04:05  agent …abcdef  create_payment                       $42.50  ok                          12 ms\n',
  )
  const refused = { ...call, status: 409, code: 'conflict', method: 'POST', path: '/payments', msg: 'refused' }
  expect(terminalLine(JSON.stringify(refused))).toMatch(/create_payment +refused 409 conflict +12 ms\n$/)
  const page = { ...base, msg: 'refused', method: 'GET', path: '/checkout/…', status: 404, code: 'not_found' }
  expect(terminalLine(JSON.stringify(page))).toMatch(/^03:04:05 +GET \/checkout\/… +refused 404 not_found\n$/)
  const error = { ...base, level: 'error', msg: 'failed', err: { message: 'no', stack: 'Error: no\n    at x' } }
  expect(terminalLine(JSON.stringify(error))).toBe('03:04:05  error  failed  Error: no\n    at x\n')
})

test.each([
  [
    '/agent-cards/crd_0123456789abcdef0123456789abcdef/details',
    '/agent-cards/crd_0123456789abcdef0123456789abcdef/details',
  ],
  [`/checkout/${'a1'.repeat(32)}`, '/checkout/…'],
  ['/decide/2_aBcdefgh', '/decide/…'],
  ['/connect/ABCDEFGH', '/connect/…'],
  ['/x/ak_ntl_sandbox_0123456789abcdef', '/x/…'],
  [`/${'a'.repeat(64)}`, '/…'],
  ['/.well-known/oauth-authorization-server', '/.well-known/oauth-authorization-server'],
])('the log shows only the words and ids of the path %s', (path, shown) => {
  expect(loggedPath(path)).toBe(shown)
})

it('the log on a terminal has a line for every call; the JSON log has none for a successful read', () => {
  const linesOf = (terminal: boolean) => {
    const script = `import { createLogger } from './src/config/log.ts'
      const log = createLogger({ level: 'info', terminal: ${terminal} })
      log.debug({ operation: 'list_wallets', status: 200, ms: 1 }, 'answered')
      log.debug({}, 'noise')
      log.info({ operation: 'create_payment', status: 200, ms: 2, key: 'canary' }, 'answered with ak_ntl_sandbox_canary')
      await log.flush()`
    const { stderr } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
      encoding: 'utf8',
    })
    expect(stderr).not.toMatch(/canary|noise/)
    return stderr.trimEnd().split('\n')
  }
  expect(linesOf(true)).toEqual([
    expect.stringMatching(/list_wallets +ok +1 ms$/),
    expect.stringMatching(/create_payment +ok +2 ms$/),
  ])
  expect(linesOf(false).map((line) => JSON.parse(line).operation)).toEqual(['create_payment'])
})
