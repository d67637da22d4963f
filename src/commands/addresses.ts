import type { Config } from '../config/settings.ts'

/** A placeholder for the address of a service that is called without a network. */
export const embeddedAddress = 'http://sandbox.invalid'

/** Returns the address at which `serve` with this configuration listens. */
export function servedAddress({ host, port }: Pick<Config, 'host' | 'port'>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The health of the service at an address. `environment` is undefined if another program answers there. */
interface Health {
  status?: string
  environment?: string
}

/** Requests the health of the service at an address. Returns undefined if there is no JSON answer in time. */
export async function healthAt(address: string): Promise<Health | undefined> {
  try {
    const answer = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(3_000), redirect: 'manual' })
    return (await answer.json()) as Health
  } catch {
    return undefined
  }
}
