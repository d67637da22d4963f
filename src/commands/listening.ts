import { ConfigError } from '../config/load.ts'
import type { Logger } from '../config/log.ts'
import { deadline } from '../core/system.ts'
import { type Listener, type ListenOptions, listen } from '../service/listen.ts'

/** Listens; `named` are the settings that the port and the host came from. @throws ConfigError where that cannot be */
export async function listenOrExplain(named: string, options: ListenOptions): Promise<Listener> {
  try {
    return await listen(options)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = { EADDRINUSE: 'is in use', EACCES: 'is not permitted', EADDRNOTAVAIL: 'is not of this machine' }[
      code ?? ''
    ]
    if (reason === undefined) throw error
    const { host, port } = options
    throw new ConfigError(
      `${named} got ${port} on ${host}, which ${reason}; a free port and an address of this machine are accepted.`,
    )
  }
}

/** The longest that a stop takes: whatever started the process may kill it then. */
const stopWithinMs = 9_500

/** Ends what runs in this process when it is told to stop. */
export function untilStopped(log: Pick<Logger, 'error'>, end: () => Promise<unknown>): void {
  const stop = async () => {
    const late = deadline(stopWithinMs, () => {
      log.error({}, 'it ended before everything was closed')
      process.exit(1)
    })
    await end()
    late.clear()
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}
