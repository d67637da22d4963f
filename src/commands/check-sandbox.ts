import { access, constants } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import type { Config } from '../config/settings.ts'
import { realSystem, sha256, timestamp } from '../core/system.ts'
import { type Inspection, inspectDatabase } from '../service/store/engine/inspection.ts'
import { oneLine, withoutPassword } from '../service/store/engine/open.ts'
import { refusals } from '../service/store/engine/origin.ts'
import { healthAt, servedAddress } from './addresses.ts'
import { checkActivity } from './check-activity.ts'
import { checkWorld } from './check-world.ts'
import { bad, clockFinding, type Finding, findOrReport, note, ok } from './finding.ts'
import { commandLine } from './start-command.ts'

/** Checks the embedded sandbox: its database, its world, and the port that `serve` uses. */
export async function checkSandbox(config: Config): Promise<Finding[]> {
  return [...(await checkDatabaseAndWorld(config)), await checkPort(config)]
}

async function checkDatabaseAndWorld(config: Config): Promise<Finding[]> {
  let storedWorld: string | null | undefined
  const findings = await checkDatabase(config, (found) => {
    storedWorld = found.world
  })
  return [...findings, ...(await checkWorld(config, storedWorld))]
}

async function checkDatabase(config: Config, onInspected: (found: Inspection) => void): Promise<Finding[]> {
  const { databaseUrl: url, secret: secrets, key = '' } = config
  const name = withoutPassword(url)
  if (url === 'sqlite::memory:') return [note('Database', 'in memory: its data is lost when the process ends')]
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path !== undefined && !(await canAccess(path, constants.F_OK))) return [await checkNewFile(resolve(path))]
  let found: Awaited<ReturnType<typeof inspectDatabase>>
  try {
    found = await inspectDatabase({ url, secrets, keyHash: sha256(key) })
  } catch (error) {
    const advice =
      'Check PAYMENTS_DATABASE_URL (--database-url), and whether the database is running and accepts your sign-in.'
    return [bad('Database', `${name}: ${oneLine(error, url)}`, advice)]
  }
  if (found === 'empty') return [note('Database', `${name} is empty: the first start creates its tables`)]
  if (typeof found === 'string') {
    const { reason, advice } = refusals[found]
    return [bad('Database', `${name}: ${reason}`, advice)]
  }
  onInspected(found)
  const { environment } = found
  if (environment !== null && environment !== config.environment) {
    const advice = `Use another database, or set PAYMENTS_ENVIRONMENT=${environment} (--environment).`
    return [
      bad('Database', `${name} is a ${environment} database, but the environment is ${config.environment}`, advice),
    ]
  }
  const findings = [tablesFinding(name, found), ...checkClock(found), ...failedEffectsFindings(found)]
  if (found.isOpened) findings.push(...(await findOrReport('Activity', () => checkActivity(url, secrets))))
  else {
    const advice = 'Set PAYMENTS_SECRET to the secret that encrypts these keys.'
    findings.push(bad('Secret', 'does not decrypt the keys in the database', advice))
  }
  if (config.key !== undefined) findings.push(keyFinding(found))
  return findings
}

function tablesFinding(name: string, { isWritable }: Inspection): Finding {
  if (!isWritable) {
    return bad(
      'Database',
      `${name} cannot be written to`,
      'Give the user that runs payments-mcp permission to write to it.',
    )
  }
  return ok('Database', `${name}: its tables match this version, and it is writable`)
}

/** Checks that the first start can create the database file. */
async function checkNewFile(path: string): Promise<Finding> {
  let folder = dirname(path)
  while (!(await canAccess(folder, constants.F_OK)) && dirname(folder) !== folder) folder = dirname(folder)
  if (await canAccess(folder, constants.W_OK)) return ok('Database', `${path} will be created by the first start`)
  const advice = `Make ${folder} writable, or choose another file: PAYMENTS_DATABASE_URL=sqlite:PATH.`
  return bad('Database', `${path} cannot be created: ${folder} is not writable`, advice)
}

function canAccess(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

function checkClock({ databaseNowMs, highestMs, offsetMs }: Inspection): Finding[] {
  const nowMs = realSystem.now()
  const machine = clockFinding(nowMs - (databaseNowMs ?? Math.max(nowMs, highestMs)), 'the database')
  if (offsetMs === 0) return [machine]
  const days = Math.abs(offsetMs) / 86_400_000
  const gap = `${days.toFixed(days < 1 ? 2 : 0)} days ${offsetMs < 0 ? 'behind' : 'ahead of'}`
  const differs = `is ${gap} the real clock: it shows ${timestamp(nowMs + offsetMs)}`
  return [machine, note('Sandbox clock', differs, 'reset_sandbox sets it back to the time at which its world starts.')]
}

function failedEffectsFindings({ failedEffects: { count, some } }: Inspection): Finding[] {
  if (count === 0) return []
  const lines = some.map(({ kind, recordId, partyId, attempts, retryAtMs, error }) => {
    const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}, next at ${timestamp(retryAtMs)}`
    return `${kind} of ${recordId} (party ${partyId}, ${tries}): ${error}`
  })
  const rest = count > some.length ? `; and ${count - some.length} more` : ''
  const advice = 'Fix the record: the next try then applies the effect. The full error is in the log.'
  return [bad('Due effects', `${count} failed: ${lines.join('; ')}${rest}`, advice)]
}

function keyFinding({ key }: Inspection): Finding {
  const keyAdvice = 'Unset PAYMENTS_KEY to use the agent of the sandbox, or set a key that this sandbox created.'
  if (key === undefined) return bad('Key', 'PAYMENTS_KEY is not a key of this sandbox', keyAdvice)
  const isOver = key.revokedAtMs !== null || (key.expiresAtMs !== null && key.expiresAtMs <= realSystem.now())
  return isOver ? bad('Key', 'PAYMENTS_KEY was revoked or has expired', keyAdvice) : ok('Key', 'valid in this sandbox')
}

/** Checks whether `serve` is running on its port, or could start there. */
async function checkPort(config: Config): Promise<Finding> {
  const { host, port } = config
  const address = servedAddress(config)
  const portAdvice = 'Stop the program that uses the port, or choose another port: PAYMENTS_PORT (--port).'
  if (port === 0) return ok('Port', 'any free port')
  const health = await healthAt(address)
  if (health === undefined) {
    const failure = await bindFailure(host, port)
    if (failure === undefined) return ok('Port', `${address} is free: ${commandLine('serve')} can use it`)
    return bad('Port', `payments-mcp cannot listen on ${address} (${failure})`, portAdvice)
  }
  const { status, environment } = health
  if (environment === undefined) return bad('Port', `${address} is served by another program`, portAdvice)
  if (status === 'ok') return ok('Port', `payments-mcp (${environment}) runs at ${address}`)
  return bad('Port', `the payments-mcp at ${address} is ${status}`, 'See its log for the reason.')
}

/** Returns the error code if this process cannot listen at the address; undefined if it can. */
function bindFailure(host: string, port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', ({ code }: NodeJS.ErrnoException) => done(code))
    server.listen(port, host, () => server.close(() => done(undefined)))
  })
}
