import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

const script = (level: string, body: string) =>
  `import { createLogger } from './src/config/log.ts'\nconst log = createLogger({ level: '${level}' })\n${body}`

function run(level: string, body: string) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module-typescript', '-e', script(level, body)],
    {
      encoding: 'utf8',
    },
  )
  const lines = stderr.split('\n').filter((line) => line !== '')
  return { stdout, stderr, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

it('the logger writes lines of its level and above to stderr, in order, before and after pino is loaded', () => {
  const { stdout, lines } = run(
    'info',
    `log.debug({}, 'no'); log.info({ a: 1 }, 'first'); log.warn({}, 'second'); await log.flush(); log.error({}, 'third')`,
  )
  expect(stdout).toBe('')
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    ['info', 'first'],
    ['warn', 'second'],
    ['error', 'third'],
  ])
})

it('a silent logger does not load pino', () => {
  const { stderr, stdout } = run(
    'silent',
    `log.error({}, 'no'); await log.flush()
     console.log(Object.keys((await import('node:module')).createRequire(import.meta.url).cache).length, process.moduleLoadList.some((m) => m.includes('worker')))`,
  )
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^0 /)
})

it('the logger removes keys, tokens, card data and client secrets from fields, messages and errors', () => {
  const { stderr, lines } = run(
    'info',
    `const card = { number: '4111111111111111', cvv: '987' }
     log.info({ request: { headers: { Authorization: 'Bearer canary', 'set-cookie': 'canary' } }, card, client_secret: 'canary', deep: [{ a: { b: { agentKey: 'canary' } } }] }, 'paid with 4111 1111 1111 1111 and ak_ntl_sandbox_canary')
     log.error({ error: new Error('sk_ntl_prod_canary', { cause: new Error('Bearer canary') }) }, 'failed')`,
  )
  expect(stderr).not.toMatch(/canary|4111|987/)
  expect(lines[0]).toMatchObject({ card: { number: '[removed]', cvv: '[removed]' } })
  expect(lines[1]).toMatchObject({ error: { message: 'sk_ntl_prod_[masked]', cause: { message: 'Bearer [masked]' } } })
})
