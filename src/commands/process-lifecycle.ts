import { ConfigError } from '../config/load.ts'
import type { Logger } from '../config/log.ts'
import { deadline } from '../core/system.ts'
import { type Listener, type ListenOptions, listen } from '../service/listen.ts'
import { healthAt, servedAddress } from './addresses.ts'

/** Starts to listen. If the address cannot be used, the error begins with `settingNames`. @throws ConfigError */
export async function listenOrExplain(settingNames: string, options: ListenOptions): Promise<Listener> {
  try {
    return await listen(options)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = {
      EADDRINUSE: 'is in use',
      EACCES: 'is not permitted',
      EADDRNOTAVAIL: 'is not an address of this machine',
    }[code ?? '']
    if (reason === undefined) throw error
    const { host, port } = options
    const { environment } = (code === 'EADDRINUSE' && (await healthAt(servedAddress({ host, port })))) || {}
    const by = environment === undefined ? '' : ` by another payments-mcp (${environment}): use it, stop it`
    throw new ConfigError(
      `${settingNames} got ${port} on ${host}, which ${reason}${by}${by === '' ? '; it accepts' : ', or give'} a free port on an address of this machine.`,
    )
  }
}

/** The time limit for stopping. Supervisors often kill a process that takes longer than ten seconds. */
const stopWithinMs = 9_500

/** Calls `end` on SIGINT or SIGTERM. If `end` takes longer than `stopWithinMs`, exits with code 1. */
export function endOnSignal(log: Pick<Logger, 'error'>, end: () => Promise<unknown>): void {
  const stop = async () => {
    const late = deadline(stopWithinMs, () => {
      log.error({}, 'the process ended before everything was closed')
      process.exit(1)
    })
    await end()
    late.clear()
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}
