import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')
const secret = 'ending-agent-secret-0123456789'
let child: ChildProcess | undefined

afterEach(async () => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
})

async function startServe(env: Record<string, string> = {}): Promise<string> {
  const all = {
    PATH: process.env.PATH ?? '',
    PAYMENTS_DATABASE_URL: 'sqlite::memory:',
    PAYMENTS_SANDBOX_AGENT_KEY: secret,
    PAYMENTS_PORT: '0',
    PAYMENTS_LOG_LEVEL: 'error',
    ...env,
  }
  const started = spawn(process.execPath, [cli, 'serve'], { env: all, stdio: ['ignore', 'pipe', 'inherit'] })
  child = started
  for await (const line of createInterface({ input: started.stdout })) {
    const url = /listening on (http:\/\/\S+)/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('serve ended before it listened.')
}

/** Sends the headers of a request, and resolves when `serve` has received them. `finish` then sends the body. */
async function begin(url: string) {
  const body = JSON.stringify({
    data: { attributes: { merchant: { name: 'Books' }, maximumAmount: 900, currency: 'USD' } },
  })
  const request = httpRequest(`${url}/agent-cards`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ak_ntl_sandbox_${secret}`,
      'Content-Type': 'application/json',
      'Content-Length': body.length,
      'Idempotency-Key': 'accepted',
      'X-Instance-ID': 'ending',
      Expect: '100-continue',
    },
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  request.flushHeaders()
  await once(request, 'continue')
  return { finish: () => request.end(body), answered }
}

test('on SIGTERM, serve first reports that it is not ready, then answers accepted requests, then exits', async () => {
  const url = await startServe()
  const ready = async () => {
    const response = await fetch(`${url}/readyz`)
    return [response.status, ((await response.json()) as { status: string }).status]
  }
  expect(await ready()).toEqual([200, 'ready'])
  const accepted = await begin(url)
  const exited = once(child as ChildProcess, 'exit')
  child?.kill('SIGTERM')
  await expect.poll(ready).toEqual([503, 'ending'])
  const health = await fetch(`${url}/healthz`)
  expect([health.status, health.headers.get('connection')]).toEqual([200, 'close'])
  accepted.finish()
  expect((await accepted.answered).statusCode).toBe(200)
  expect(await exited).toEqual([0, null])
})

test('on SIGTERM, if nothing polls /readyz, serve exits as soon as accepted requests are answered', async () => {
  const url = await startServe()
  const accepted = await begin(url)
  const exited = once(child as ChildProcess, 'exit')
  child?.kill('SIGTERM')
  await expect
    .poll(() =>
      fetch(`${url}/healthz`).then(
        () => 'accepted',
        () => 'refused',
      ),
    )
    .toBe('refused')
  accepted.finish()
  expect((await accepted.answered).statusCode).toBe(200)
  expect(await exited).toEqual([0, null])
})

test('metrics have their own port, and serve reports an unusable metrics port in one line', async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const port = String((probe.address() as AddressInfo).port)
  const refused = async (env: Record<string, string>) => {
    const all = { PATH: process.env.PATH ?? '', PAYMENTS_DATABASE_URL: 'sqlite::memory:', PAYMENTS_PORT: '0', ...env }
    const process_ = spawn(process.execPath, [cli, 'serve'], { env: all, stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    process_.stderr.on('data', (chunk) => {
      errors += chunk
    })
    const [code] = await once(process_, 'close')
    return [code, errors.trim().split('\n')]
  }
  expect(await refused({ PAYMENTS_METRICS_PORT: port })).toEqual([
    2,
    [expect.stringMatching(/METRICS_PORT.* got .*accepts/)],
  ])
  expect(await refused({ PAYMENTS_METRICS: 'true', PAYMENTS_METRICS_PORT: port })).toEqual([
    2,
    [expect.stringMatching(/METRICS_PORT.*is in use/)],
  ])
  probe.close()
  await once(probe, 'close')
  const url = await startServe({ PAYMENTS_METRICS: 'true', PAYMENTS_METRICS_PORT: port })
  expect((await fetch(`${url}/metrics`)).status).toBe(404)
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain('payments_mcp_sessions 0')
  expect((await fetch(`http://127.0.0.1:${port}/whoami`)).status).toBe(404)
})
