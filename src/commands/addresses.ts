import type { Config } from '../config/settings.ts'

/** A placeholder for the address of a service that is called without a network. */
export const embeddedAddress = 'http://sandbox.invalid'

/** Returns the address where `serve` listens with this configuration. */
export function servedAddress({ host, port }: Pick<Config, 'host' | 'port'>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The answer to a health request. `environment` is undefined if a program other than payments-mcp answered. */
interface Health {
  status?: string
  environment?: string
}

/** Requests the health of the service at an address. Returns undefined if no JSON answer comes within 3 seconds. */
export async function healthAt(address: string): Promise<Health | undefined> {
  try {
    const answer = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(3_000), redirect: 'manual' })
    return (await answer.json()) as Health
  } catch {
    return undefined
  }
}
