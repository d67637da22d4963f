import type { Config } from '../config/settings.ts'

/** A placeholder for the address of a service that is called without a network. */
export const embeddedAddress = 'http://sandbox.invalid'

/** Returns the address at which `serve` with this configuration listens. */
export function servedAddress({ host, port }: Config): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
