import { ConfigError } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import { describeText, parseBaseUrl } from '../config/values.ts'
import { realSystem } from '../core/system.ts'
import { bridgeOverStdio } from '../mcp/bridge/bridge.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainErrors } from './explain.ts'

/** Bridges MCP over stdio to an HTTP endpoint, for hosts that can only start local servers. Messages stay unchanged. */
export async function bridge(flags: Flags, addressText?: string): Promise<void> {
  await explainErrors(async () => {
    const { key, logLevel } = commandConfig('bridge', flags)
    const address = addressOf(addressText)
    if (key === undefined) {
      throw new ConfigError('PAYMENTS_KEY (--key) is missing; it must be the key for the MCP endpoint.')
    }
    const log = createLogger({ level: logLevel })
    const { stdin, stdout } = process
    await bridgeOverStdio({ url: new URL(address), key, log, system: realSystem, stdin, stdout })
  })
}

function addressOf(addressText: string | undefined): string {
  const address = addressText === undefined ? undefined : parseBaseUrl(addressText)
  if (address !== undefined) return address
  const problem = addressText === undefined ? 'is missing' : `got ${describeText(addressText, false)}`
  throw new ConfigError(
    `The address of the MCP endpoint ${problem}; it accepts an https address, or http on a loopback host, such as https://payments.example/mcp.`,
  )
}
