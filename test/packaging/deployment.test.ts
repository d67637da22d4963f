import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { settings } from '../../src/config/settings.ts'
import { postgres } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { runResource } from '../support/run-resources.ts'
import { root } from './installed.ts'
import { type Served, serve } from './served.ts'

/** Tests of the files that docs/operating.md#deploying describes: Dockerfile, compose.yaml, systemd unit, dashboard. */

const run = promisify(execFile)
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const dockerfile = read('Dockerfile')
const compose = parse(read('compose.yaml'))
const image = Object.fromEntries([...dockerfile.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]))

let served: Served
let metricsPort: number
let drop: () => Promise<void>

/** Starts the service with the settings from compose.yaml, but with an empty PostgreSQL database and free ports. */
beforeAll(async () => {
  const database = await postgres.createEmpty()
  drop = database.drop
  metricsPort = await freePort()
  const values: Record<string, string> = { POSTGRES_PASSWORD: 'x', PAYMENTS_SECRET: 's'.repeat(44) }
  const environment = Object.entries<string>(compose.services.payments.environment).map(([name, text]) => [
    name,
    text.replace(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g, (_, key, fallback) => fallback ?? values[key]),
  ])
  served = await serve([await runResource('cli'), ...compose.services.payments.command], {
    PATH: String(process.env.PATH),
    ...Object.fromEntries(environment),
    PAYMENTS_DATABASE_URL: database.url,
    PAYMENTS_HOST: String(image.PAYMENTS_HOST),
    PAYMENTS_PORT: '0',
    PAYMENTS_METRICS_PORT: String(metricsPort),
  })
})

afterAll(async () => {
  await served.stop()
  await drop()
})

test("the image uses the project's Node.js version and starts the bundle", () => {
  const { node } = JSON.parse(read('package.json')).devDependencies
  const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name)
  expect(images).toEqual([`node:${node}-slim`, `node:${node}-slim`])
  expect(dockerfile).toContain('\nUSER node\nVOLUME /data\n')
  expect(dockerfile).toContain('\nENTRYPOINT ["node", "/app/server/cli.js"]\nCMD ["serve"]\n')
})

test('every PAYMENTS_ variable in the deployment files and docs/operating.md is a setting', () => {
  const variables: string[] = settings.map(({ variable }) => variable)
  const texts = [dockerfile, read('compose.yaml'), read('deploy/payments-mcp.service'), read('docs/operating.md')]
  expect(
    texts.flatMap((text) => text.match(/\bPAYMENTS_[A-Z_]+/g) ?? []).filter((name) => !variables.includes(name)),
  ).toEqual([])
})

test('compose.yaml publishes every port only on 127.0.0.1', () => {
  const ports = Object.values<{ ports: string[] }>(compose.services).flatMap((service) => service.ports)
  expect(ports.length).toBeGreaterThan(2)
  expect(ports.filter((port) => !/^127\.0\.0\.1:(\d+):\1$/.test(port))).toEqual([])
})

test('with the settings from compose.yaml, the service passes the health check of the image', async () => {
  const [, command = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? []
  const [, ...args]: string[] = JSON.parse(command)
  const exitCode = (port: string) =>
    run(process.execPath, args, { env: { PAYMENTS_PORT: port } }).then(
      () => 0,
      ({ code }) => code,
    )
  expect(await exitCode(new URL(served.url).port)).toBe(0)
  expect(await exitCode(String(await freePort()))).toBe(1)
})

test('the service exports every metric that the dashboard and docs/operating.md mention', async () => {
  // Sends a request, because the service exports no metrics of requests before the first request.
  await fetch(`${served.url}/wallets`)
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const names = `${read('deploy/grafana-dashboard.json')} ${read('docs/operating.md')}`.match(
    /\b(?:payments|nodejs|process)_[a-z0-9_]+/g,
  )
  expect(new Set(names).size).toBeGreaterThan(8)
  expect([...new Set(names)].filter((name) => !metrics.includes(`\n${name}`))).toEqual([])
})

test('the systemd unit is valid', async ({ skip }) => {
  const unit = read('deploy/payments-mcp.service')
  expect(unit).toContain('\nExecStart=/usr/bin/node /opt/payments-mcp/server/cli.js serve\n')
  const hasSystemd = await run('systemd-analyze', ['--version']).then(
    () => true,
    () => false,
  )
  if (!hasSystemd) skip('systemd-analyze is not installed')
  const { stdout, stderr } = await run('sh', [
    '-c',
    // `systemd-analyze` checks that the program exists, so this copy of the unit gets the path of the running Node.js.
    `sed 's#^ExecStart=.*#ExecStart=${process.execPath}#' "$1" > "$2/payments-mcp.service" && systemd-analyze verify "$2/payments-mcp.service"`,
    'sh',
    join(root, 'deploy/payments-mcp.service'),
    (await run('mktemp', ['-d'])).stdout.trim(),
  ])
  expect(stdout + stderr).toBe('')
})
