import { createTokenStore, isRenewable } from '../auth/token-store.ts'
import { createRemoteFetch } from '../client/remote.ts'
import { dataDirectory } from '../config/load.ts'
import type { Config } from '../config/settings.ts'
import { Failure } from '../core/errors.ts'
import { parseTimestamp, realSystem } from '../core/system.ts'
import { bad, clockFinding, type Finding, note, ok } from './finding.ts'

/**
 * Checks that a deployed API answers and accepts the credential, and that the API's clock agrees with this machine's.
 * If no API is configured, reports the stored logins.
 */
export async function checkApi({ baseUrl, key }: Config): Promise<Finding[]> {
  if (baseUrl === undefined) return checkLogins()
  const login = key === undefined ? await loginAt(baseUrl) : undefined
  if (login !== undefined && 'finding' in login) return [login.finding]
  const remote = createRemoteFetch()
  try {
    return await checkCredential(
      baseUrl,
      key ?? login?.accessToken ?? '',
      key === undefined ? 'Login' : 'Key',
      remote.fetch,
    )
  } finally {
    await remote.close()
  }
}

/** Reports every stored login, because without a base address, none of them is selected. */
async function checkLogins(): Promise<Finding[]> {
  try {
    const { logins } = await openTokenStore().read()
    return Object.entries(logins).map(([address, login]) =>
      !isRenewable(login) && hasExpired(login.expiresAtMs)
        ? note('Login', `at ${address} has expired`, `Sign in again: payments-mcp login --base-url ${address}`)
        : note('Login', `at ${address}`, `To check it, run payments-mcp doctor --base-url ${address}.`),
    )
  } catch (error) {
    return [unreadableFinding(error)]
  }
}

async function loginAt(baseUrl: string): Promise<{ accessToken: string } | { finding: Finding }> {
  const again = `Sign in: payments-mcp login --base-url ${baseUrl}`
  try {
    const login = (await openTokenStore().read()).logins[baseUrl]
    if (login === undefined)
      return { finding: bad('Login', `nobody is signed in at ${baseUrl}, and no key is set`, again) }
    if (!hasExpired(login.expiresAtMs)) return { accessToken: login.accessToken }
    // The next use renews the login. This check does not, because it must not change what is stored.
    return {
      finding: isRenewable(login)
        ? note(
            'Login',
            `at ${baseUrl} will be renewed at its next use`,
            `To check it, run payments-mcp whoami --base-url ${baseUrl}.`,
          )
        : bad('Login', `at ${baseUrl} has expired`, again),
    }
  } catch (error) {
    return { finding: unreadableFinding(error) }
  }
}

const openTokenStore = () => createTokenStore({ directory: dataDirectory().path, system: realSystem })
const hasExpired = (expiresAtMs: number) => expiresAtMs <= realSystem.now()

function unreadableFinding(error: unknown): Finding {
  if (error instanceof Failure) return bad('Login', error.message, 'After that, sign in again: payments-mcp login')
  throw error
}

async function checkCredential(
  baseUrl: string,
  credential: string,
  subject: string,
  fetch: (request: Request) => Promise<Response>,
): Promise<Finding[]> {
  const headers = { Authorization: `Bearer ${credential}` }
  let answer: Response
  try {
    answer = await fetch(new Request(`${baseUrl}/whoami`, { headers, signal: AbortSignal.timeout(10_000) }))
  } catch (error) {
    const advice = 'Check PAYMENTS_BASE_URL (--base-url), the network, and whether the API is running.'
    return [bad('API', `${baseUrl} does not answer (${reasonOf(error)})`, advice)]
  }
  return [credentialFinding(subject, baseUrl, answer.status), ...clockFindings(answer.headers.get('date'))]
}

function credentialFinding(subject: string, baseUrl: string, status: number): Finding {
  if (status === 200) return ok(subject, `accepted by ${baseUrl}`)
  if (status === 401) {
    const advice =
      subject === 'Key'
        ? 'Set PAYMENTS_KEY (--key) to a complete, unrevoked key for this API and environment.'
        : `Sign in again: payments-mcp login --base-url ${baseUrl}`
    return bad(subject, `not accepted by ${baseUrl}`, advice)
  }
  return bad('API', `${baseUrl}/whoami answered ${status}`, 'Check that this is the address of a payments API.')
}

function clockFindings(date: string | null): Finding[] {
  if (date === null) return []
  const differenceMs = realSystem.now() - parseTimestamp(date)
  return [clockFinding(Number.isNaN(differenceMs) ? 0 : differenceMs, 'the API')]
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : message
}
