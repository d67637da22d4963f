import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy between a client and a server. It can fail in the ways in which a network fails. */
export interface Route {
  /** The URL that the client connects to. */
  url: string
  /** The number of connection attempts since the last call of `fallSilent`, `refuse` or `open`. */
  attempts(): number
  /** From now on, forwards nothing in either direction, not even disconnects. */
  fallSilent(): void
  /** Ends all connections, and refuses new ones. */
  refuse(): void
  /**
   * Forwards new connections from now on: to a different server if `url` is given, otherwise to the same server as
   * before. Connections that fell silent stay silent, and their data stays lost.
   */
  open(url?: string): void
  close(): Promise<void>
}

interface Pair {
  near: Socket
  far: Socket | undefined
  isSilent: boolean
}

export async function openRoute(url: string): Promise<Route> {
  const pairs = new Set<Pair>()
  let state: 'open' | 'silent' | 'refusing' = 'open'
  let target = new URL(url)
  let attempts = 0
  const server = createServer((near) => {
    attempts += 1
    near.on('error', () => {})
    if (state === 'refusing') {
      near.resetAndDestroy()
      return
    }
    const isSilent = state === 'silent'
    const far = isSilent ? undefined : connect(Number(target.port), target.hostname)
    const pair: Pair = { near, far, isSilent }
    pairs.add(pair)
    if (far !== undefined) join(pair, far)
  })
  const enter = (to: typeof state) => {
    state = to
    attempts = 0
  }
  const cut = () => {
    for (const { near, far } of pairs) {
      near.destroy()
      far?.destroy()
    }
    pairs.clear()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String((server.address() as AddressInfo).port)
  return {
    url: through.href,
    attempts: () => attempts,
    fallSilent: () => {
      enter('silent')
      for (const pair of pairs) pair.isSilent = true
    },
    refuse: () => {
      enter('refusing')
      cut()
    },
    open: (to = target.href) => {
      target = new URL(to)
      enter('open')
    },
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function join(pair: Pair, far: Socket): void {
  const { near } = pair
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('data', (chunk) => pair.isSilent || to.write(chunk))
    from.on('error', () => {})
    from.on('close', () => pair.isSilent || to.destroy())
  }
}
